//! What the handlers share.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use metrics_exporter_prometheus::PrometheusHandle;
use palyra_common::api::BackupMaking;
use palyra_common::time::{Clock, Timestamp};
use palyra_gateway::Telemetry;
use palyra_identity::Identity;
use palyra_storage::backup::Source;
use palyra_storage::blob::BlobStore;
use palyra_storage::lease::Leases;
use palyra_storage::{Database, JournalStore};
use palyra_vault::Vault;
use tokio::sync::{Mutex, Semaphore};

use crate::channels::ChannelPlatform;
use crate::config::{self, Config, Given, Loaded};
use crate::log::LogHandle;
use crate::readers::Readers;
use crate::ready::LastLook;
use crate::runs::RunPlatform;
use crate::transport::http::{PerMinute, Rates, Slots};

/// The running daemon, as its handlers see it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Parts>);

pub(crate) struct Parts {
    pub(crate) db: Database,
    pub(crate) journal: JournalStore,
    pub(crate) blobs: BlobStore,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) identity: Identity,
    pub(crate) vault: Vault,
    pub(crate) channels: ChannelPlatform,
    pub(crate) runs: RunPlatform,
    /// What was read last. Only live options of it are in force.
    pub(crate) settings: Live<Loaded>,
    /// What this process was started with.
    pub(crate) started_with: Loaded,
    /// What was said outside of the configuration file; it stays as it is until the next start.
    pub(crate) given: Given,
    /// The names under which we are reached.
    pub(crate) hosts: Live<Vec<String>>,
    pub(crate) requests: Semaphore,
    pub(crate) rates: Rates,
    pub(crate) slots: Slots,
    /// What surfaces tell of people, and how often each login may.
    pub(crate) telemetry: Telemetry,
    pub(crate) tellings: PerMinute,
    /// Of those who read events as they happen.
    pub(crate) readers: Readers,
    pub(crate) metrics: PrometheusHandle,
    pub(crate) log: LogHandle,
    pub(crate) place: Place,
    pub(crate) started_at: Timestamp,
    /// Whether this node renews its leases.
    pub(crate) leases_healthy: Live<bool>,
    pub(crate) leases: Leases,
    pub(crate) last_look: LastLook,
    /// Of this process: see [`App::file_tag`].
    pub(crate) salt: [u8; 32],
    /// One change of the configuration at a time.
    pub(crate) changing: Mutex<()>,
    /// One backup at a time.
    pub(crate) backing_up: Arc<Mutex<()>>,
    /// What became of the one that was asked for last. A file that broke off says nothing of it.
    pub(crate) last_backup: Live<Option<BackupMaking>>,
}

/// Where this node is.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) pid: u32,
    pub(crate) data_dir: PathBuf,
    pub(crate) socket: PathBuf,
    pub(crate) http: SocketAddr,
    pub(crate) grpc: SocketAddr,
}

impl App {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// The configuration in force. Live options are in their own places: see [`Parts::hosts`].
    pub(crate) fn config(&self) -> &Config {
        &self.started_with.config
    }

    /// Names what the configuration file holds, for as long as this process lasts.
    pub(crate) fn file_tag(&self, text: &str) -> String {
        config::tag(&self.salt, text)
    }

    /// What a backup is made of.
    pub(crate) fn backup_source(&self) -> Source {
        Source {
            db: self.db.clone(),
            blobs: self.blobs.clone(),
            leases: self.leases.clone(),
            clock: self.clock.clone(),
        }
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// A value that is replaced as a whole while others read it.
#[derive(Debug)]
pub(crate) struct Live<T>(RwLock<Arc<T>>);

impl<T> Live<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(RwLock::new(Arc::new(value)))
    }

    pub(crate) fn load(&self) -> Arc<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn store(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }
}
