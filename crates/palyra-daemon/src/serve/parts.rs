//! Opening what the daemon is made of.

use std::path::Path;
use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use palyra_common::time::Clock;
use palyra_connector_core::ConnectorSupervisor;
use palyra_identity::Identity;
use palyra_storage::blob::BlobStore;
use palyra_storage::lease::Leases;
use palyra_storage::{Database, JournalStore};
use palyra_vault::{Redactor, Vault};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Mutex, Semaphore};

use crate::app::{App, Live, Parts, Place};
use crate::channels::ChannelPlatform;
use crate::config::{Given, Loaded};
use crate::failure::Failure;
use crate::hosts;
use crate::log::LogHandle;
use crate::ready::LastLook;
use crate::transport::http::{Rates, Slots};
use crate::transport::listen;

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

/// What the daemon is made of, and what its connectors are run by.
pub(crate) struct Opened {
    pub(crate) app: App,
    pub(crate) supervisor: ConnectorSupervisor,
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
    let redactor = vault.redactor().clone();
    let (channels, supervisor) =
        ChannelPlatform::open(db.clone(), leases.clone(), clock.clone(), data_dir, redactor)
            .await?;
    let app = App::new(Parts {
        channels,
        journal: JournalStore::new(db.clone()),
        identity: Identity::new(db.clone(), clock.clone()),
        leases,
        hosts: Live::new(hosts::ours(place.http, &config.http.hosts, &config.http.public_url)),
        requests: Semaphore::new(config.http.max_requests as usize),
        rates: Rates::new(config.http.requests_per_second),
        slots: Slots::new(config.http.max_requests_per_principal),
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
    Ok(Opened { app, supervisor, listeners: OpenListeners { http, grpc, local } })
}

fn salt() -> Result<[u8; 32], Failure> {
    let mut salt = [0; 32];
    match getrandom::fill(&mut salt) {
        Ok(()) => Ok(salt),
        Err(error) => Err(Failure::Startup(anyhow::anyhow!("no random numbers: {error}"))),
    }
}
