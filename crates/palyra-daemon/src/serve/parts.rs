//! Opening what the daemon is made of.

use std::path::Path;
use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use palyra_common::time::Clock;
use palyra_connector_core::{ConnectorSupervisor, Outgoing};
use palyra_gateway::{Engine, Telemetry};
use palyra_identity::Identity;
use palyra_storage::blob::BlobStore;
use palyra_storage::lease::Leases;
use palyra_storage::{Database, JournalStore};
use palyra_vault::{Redactor, Vault};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Mutex, Semaphore};

use crate::app::{App, Live, Parts, Place};
use crate::channels::{ChannelPlatform, WithoutSecrets};
use crate::config::{Config, Given, Loaded};
use crate::failure::Failure;
use crate::hosts;
use crate::log::LogHandle;
use crate::readers::Readers;
use crate::ready::LastLook;
use crate::runs::{RunParts, RunPlatform};
use crate::transport::http::{PerMinute, Rates, Slots};
use crate::transport::listen;

/// How many events of telemetry one login may tell: a person does not do as much.
const EVENTS_PER_MINUTE: u32 = 120;

/// What is there before the parts.
pub(crate) struct Start {
    pub(crate) db: Database,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) given: Given,
    pub(crate) loaded: Loaded,
    pub(crate) log: LogHandle,
    pub(crate) metrics: PrometheusHandle,
    pub(crate) redactor: Redactor,
}

/// Where requests arrive.
pub(crate) struct OpenListeners {
    pub(crate) http: TcpListener,
    pub(crate) grpc: TcpListener,
    pub(crate) local: UnixListener,
}

/// What the daemon is made of, and what its connectors and runs are run by.
pub(crate) struct Opened {
    pub(crate) app: App,
    pub(crate) supervisor: ConnectorSupervisor,
    pub(crate) engine: Engine,
    pub(crate) listeners: OpenListeners,
}

pub(crate) async fn open(start: Start, data_dir: &Path) -> Result<Opened, Failure> {
    let Start { db, clock, given, loaded, log, metrics, redactor } = start;
    let config = loaded.config.clone();
    let started_at = clock.now();
    let blobs = BlobStore::open(db.clone(), clock.clone(), &config.storage, data_dir)?;
    let vault = Vault::open(db.clone(), clock.clone(), &config.vault, data_dir, redactor).await;
    let vault = vault.map_err(|error| Failure::Refused(error.envelope()))?;
    let profile = config.deployment.profile;
    let http = listen::tcp("http.bind", config.http.bind, profile).await?;
    let grpc = listen::tcp("grpc.bind", config.grpc.bind, profile).await?;
    let (local, socket) = listen::socket(data_dir).await?;
    let address = |listener: &TcpListener| {
        listener.local_addr().map_err(|error| Failure::Startup(error.into()))
    };
    let place = Place {
        pid: std::process::id(),
        data_dir: std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned()),
        socket: std::path::absolute(&socket).unwrap_or(socket),
        http: address(&http)?,
        grpc: address(&grpc)?,
    };
    let leases = Leases::new(db.clone(), clock.clone(), config.storage.lease_ttl);
    let ground = Ground { db: &db, leases: &leases, blobs: &blobs, clock: &clock, vault: &vault };
    let Platforms { runs, engine, channels, supervisor } =
        platforms(ground, &config, data_dir).await?;
    let app = App::new(Parts {
        channels,
        runs,
        journal: JournalStore::new(db.clone()),
        identity: Identity::new(db.clone(), clock.clone()),
        leases,
        hosts: Live::new(hosts::ours(place.http, &config.http.hosts, &config.http.public_url)),
        requests: Semaphore::new(config.http.max_requests as usize),
        rates: Rates::new(config.http.requests_per_second),
        slots: Slots::new(config.http.max_requests_per_principal),
        readers: Readers::new(Slots::new(config.http.max_requests_per_principal)),
        telemetry: Telemetry::new(db.clone(), clock.clone()),
        tellings: PerMinute::new(EVENTS_PER_MINUTE, "events of one login"),
        metrics,
        settings: Live::new(loaded.clone()),
        started_with: loaded,
        leases_healthy: Live::new(true),
        last_look: LastLook::default(),
        salt: salt()?,
        changing: Mutex::default(),
        backing_up: Arc::default(),
        last_backup: Live::new(None),
        db,
        blobs,
        clock,
        vault,
        given,
        log,
        place,
        started_at,
    });
    Ok(Opened { app, supervisor, engine, listeners: OpenListeners { http, grpc, local } })
}

/// What stands on the database.
struct Ground<'a> {
    db: &'a Database,
    leases: &'a Leases,
    blobs: &'a BlobStore,
    clock: &'a Arc<dyn Clock>,
    vault: &'a Vault,
}

struct Platforms {
    runs: RunPlatform,
    engine: Engine,
    channels: ChannelPlatform,
    supervisor: ConnectorSupervisor,
}

/// Agents, and the channels through which they are talked to.
async fn platforms(
    ground: Ground<'_>,
    config: &Config,
    data_dir: &Path,
) -> Result<Platforms, Failure> {
    let Ground { db, leases, blobs, clock, vault } = ground;
    let outgoing: Arc<dyn Outgoing> = Arc::new(WithoutSecrets(vault.redactor().clone()));
    let parts = RunParts {
        db: db.clone(),
        leases: leases.clone(),
        blobs: blobs.clone(),
        clock: clock.clone(),
        vault: vault.clone(),
        outgoing: outgoing.clone(),
    };
    let (runs, engine) = RunPlatform::open(parts, config, data_dir).await?;
    let agency = Arc::new(RunPlatform::agency(&engine));
    let (db, leases, clock) = (db.clone(), leases.clone(), clock.clone());
    let (channels, supervisor) =
        ChannelPlatform::open(db, leases, clock, data_dir, outgoing, agency).await?;
    Ok(Platforms { runs, engine, channels, supervisor })
}

fn salt() -> Result<[u8; 32], Failure> {
    let mut salt = [0; 32];
    match getrandom::fill(&mut salt) {
        Ok(()) => Ok(salt),
        Err(error) => Err(Failure::Startup(anyhow::anyhow!("no random numbers: {error}"))),
    }
}
