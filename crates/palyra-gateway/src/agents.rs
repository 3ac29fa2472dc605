//! Who does the work, as rows.

use std::sync::Arc;

use palyra_common::agent::AgentSpec;
use palyra_common::ids::AgentId;
use palyra_common::time::Clock;
use palyra_connector_core::Trail;
use palyra_storage::{Database, StorageError, Tx};

use crate::error::GatewayError;
use crate::store::agents::{self, Agent};

/// The agent that is always there.
pub const DEFAULT: &str = "default";

/// The agents. Cheap to clone.
#[derive(Clone)]
pub struct Agents {
    db: Database,
    clock: Arc<dyn Clock>,
}

impl Agents {
    /// Those in `db`.
    pub fn new(db: Database, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock }
    }

    /// On a new database: an agent to talk to.
    pub async fn set_up_first(&self) -> Result<(), GatewayError> {
        let (now, id) = (self.clock.now(), default_agent()?);
        let spec = AgentSpec::default();
        self.db.write(move |tx| agents::add(tx, &id, &spec, now).map(drop)).await?;
        Ok(())
    }

    /// Makes an agent.
    pub async fn add(
        &self,
        id: AgentId,
        spec: AgentSpec,
        trail: Trail,
    ) -> Result<Agent, GatewayError> {
        spec.check().map_err(GatewayError::Invalid)?;
        let now = self.clock.now();
        let add = move |tx: &mut Tx<'_>| -> Result<Agent, GatewayError> {
            if !agents::add(tx, &id, &spec, now)? {
                return Err(GatewayError::AgentExists(id.clone()));
            }
            trail.clone().into_iter().for_each(|entry| tx.record(entry));
            agents::one(tx, &id)?.ok_or_else(|| GatewayError::NoAgent(id.clone()))
        };
        self.db.try_write(add).await
    }

    /// Replaces what an agent is; with `expected`, only if it is at that version. A run goes by what it
    /// is when a worker takes the run, also one that has waited since before the change.
    pub async fn change(
        &self,
        id: AgentId,
        spec: AgentSpec,
        expected: Option<i64>,
        trail: Trail,
    ) -> Result<Agent, GatewayError> {
        spec.check().map_err(GatewayError::Invalid)?;
        let now = self.clock.now();
        let change = move |tx: &mut Tx<'_>| -> Result<Agent, GatewayError> {
            let was = agents::lock(tx, &id)?.ok_or_else(|| GatewayError::NoAgent(id.clone()))?;
            GatewayError::unless_changed("agent", was.version, expected)?;
            if spec == was.spec {
                return Ok(was);
            }
            agents::change(tx, &id, &spec, now)?;
            trail.clone().into_iter().for_each(|entry| tx.record(entry));
            agents::one(tx, &id)?.ok_or_else(|| GatewayError::NoAgent(id.clone()))
        };
        self.db.try_write(change).await
    }

    /// Removes an agent. The default one stays.
    pub async fn remove(&self, id: AgentId, trail: Trail) -> Result<(), GatewayError> {
        if id.as_str() == DEFAULT {
            let what = "the default agent cannot be removed: change it instead";
            return Err(GatewayError::Invalid(what.to_owned()));
        }
        let remove = move |tx: &mut Tx<'_>| -> Result<(), GatewayError> {
            if !agents::remove(tx, &id)? {
                return Err(GatewayError::NoAgent(id.clone()));
            }
            trail.clone().into_iter().for_each(|entry| tx.record(entry));
            Ok(())
        };
        self.db.try_write(remove).await
    }

    /// One agent.
    pub async fn get(&self, id: AgentId) -> Result<Agent, GatewayError> {
        let wanted = id.clone();
        let found = self.db.read(move |tx| agents::one(tx, &wanted)).await?;
        found.ok_or(GatewayError::NoAgent(id))
    }

    /// Agents by name, behind `after`.
    pub async fn list(&self, after: String, limit: u32) -> Result<Vec<Agent>, StorageError> {
        self.db.read(move |tx| agents::list(tx, &after, limit)).await
    }
}

/// The id of the agent that is always there.
pub fn default_agent() -> Result<AgentId, GatewayError> {
    DEFAULT.parse().map_err(|error| GatewayError::Invalid(format!("{error}")))
}
