//! The agents of this daemon: what they think and act with, and who works on their runs.

mod keys;
mod reload;
mod web;

use std::path::Path;
use std::sync::Arc;

use palyra_common::time::Clock;
use palyra_connector_core::{Outgoing, Pulse, SystemDice};
use palyra_gateway::acp::{self, Commands};
use palyra_gateway::{
    Agency, Agents, Approvals, Engine, EngineOptions, Sessions, Streams, Surfaces, ToolOptions,
    Toolbox, built_in,
};
use palyra_models::Models;
use palyra_storage::Database;
use palyra_storage::blob::BlobStore;
use palyra_storage::lease::Leases;
use palyra_vault::Vault;

use crate::app::Live;
use crate::config::Config;
use crate::failure::Failure;
use keys::KeysOfVault;
pub(crate) use reload::Thinking;
use web::Web;

/// Where agents keep files in the data directory, unless they do elsewhere.
const WORKSPACES: &str = "workspaces";

/// What the platform of runs is made with.
pub(crate) struct RunParts {
    pub(crate) db: Database,
    pub(crate) leases: Leases,
    pub(crate) blobs: BlobStore,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) vault: Vault,
    /// Takes secrets out of what is written down and sent.
    pub(crate) outgoing: Arc<dyn Outgoing>,
}

/// What handlers ask about agents and their runs.
pub(crate) struct RunPlatform {
    pub(crate) agents: Agents,
    pub(crate) approvals: Approvals,
    pub(crate) streams: Streams,
    pub(crate) sessions: Sessions,
    /// What can be done through the Agent Control Protocol.
    pub(crate) commands: Commands,
    pub(crate) surfaces: Surfaces,
    /// The models of the configuration as it was last read.
    pub(crate) models: Arc<Live<Models>>,
    /// Whether runs are worked on at all.
    pub(crate) pulse: Pulse,
    keys: Arc<KeysOfVault>,
    clock: Arc<dyn Clock>,
}

impl RunPlatform {
    /// The agents in the database, and the engine that is to do their work.
    pub(crate) async fn open(
        parts: RunParts,
        config: &Config,
        data_dir: &Path,
    ) -> Result<(Self, Engine), Failure> {
        let RunParts { db, leases, blobs, clock, vault, outgoing } = parts;
        let keys = Arc::new(KeysOfVault(vault));
        let models = Models::new(&config.models, keys.clone(), clock.clone())
            .map_err(|error| Failure::Refused(error.envelope()))?;
        let models = Arc::new(Live::new(models));
        let tools = built_in(&ToolOptions {
            db: db.clone(),
            blobs: blobs.clone(),
            clock: clock.clone(),
            outgoing: outgoing.clone(),
            fetcher: Arc::new(Web::new(&config.net)?),
            workspaces: (config.agents.workspaces_folder())
                .unwrap_or_else(|| data_dir.join(WORKSPACES)),
        });
        let streams = Streams::new(db.clone());
        let engine = Engine::new(EngineOptions {
            db: db.clone(),
            leases,
            blobs,
            clock: clock.clone(),
            dice: Arc::new(SystemDice),
            thinker: Arc::new(Thinking(models.clone())),
            tools: Toolbox::new(tools).map_err(|what| Failure::Startup(anyhow::anyhow!(what)))?,
            outgoing,
            streams: streams.clone(),
            capacity: config.runs.capacity as usize,
        });
        let agents = Agents::new(db.clone(), clock.clone());
        agents.set_up_first().await.map_err(|error| Failure::Refused(error.envelope()))?;
        let approvals = Approvals::new(db.clone(), clock.clone());
        let sessions = Sessions::new(db.clone(), clock.clone()).with_hands(engine.hands());
        let surfaces = Surfaces::new(sessions.clone());
        let commands = acp::built_in(&sessions, &approvals);
        let commands = Commands::new(db, clock.clone(), commands)
            .map_err(|what| Failure::Startup(anyhow::anyhow!(what)))?;
        let platform = Self {
            agents,
            approvals,
            streams,
            surfaces,
            sessions,
            commands,
            models,
            pulse: engine.pulse(),
            keys,
            clock,
        };
        Ok((platform, engine))
    }

    /// Who takes on what comes in through channels.
    pub(crate) fn agency(engine: &Engine) -> Agency {
        Agency::new(engine.hands())
    }
}
