//! Renewing what this node holds, for as long as it runs.

use std::future::Future;
use std::sync::Arc;

use palyra_common::time::Duration;
use tokio::sync::watch;

use super::Leases;
use crate::migrate::SCHEMA_VERSION;
use crate::store::schema;
use crate::{Database, StorageError};

/// Renews three times within the life of a lease, so that one lost try costs nothing.
const RENEWALS_PER_TTL: u64 = 3;

/// Whether this node may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeState {
    /// Its leases are renewed.
    Healthy,
    /// The last renewal failed; its leases run out unless a later one succeeds.
    Failing {
        /// Why.
        error: String,
    },
    /// The schema was migrated to one that this program must not use any more. It should finish
    /// what it has begun and stop.
    TooOld {
        /// The oldest program that may use the schema.
        oldest_binary: i64,
    },
}

/// Renews the leases of this node.
#[derive(Debug)]
pub struct LeaseKeeper {
    leases: Leases,
    db: Database,
    every: std::time::Duration,
    state: watch::Sender<NodeState>,
}

/// Watches a [`LeaseKeeper`].
#[derive(Debug, Clone)]
pub struct KeeperHandle(watch::Receiver<NodeState>);

impl KeeperHandle {
    /// The state after the last renewal.
    pub fn state(&self) -> NodeState {
        self.0.borrow().clone()
    }

    /// Waits for the state to change. `None` when the keeper has ended.
    pub async fn changed(&mut self) -> Option<NodeState> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }
}

impl LeaseKeeper {
    /// A keeper of `leases` and the handle that watches it.
    pub fn new(db: Database, leases: Leases) -> (Self, KeeperHandle) {
        let (state, watcher) = watch::channel(NodeState::Healthy);
        let every = Duration::from_millis((leases.ttl.as_millis() / RENEWALS_PER_TTL).max(1));
        (Self { leases, db, every: every.into(), state }, KeeperHandle(watcher))
    }

    /// Renews until `shutdown`. Leases are then left to expire: those who hold them release them.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                () = &mut shutdown => return,
            }
            let state = self.renew().await;
            self.state.send_if_modified(|known| {
                let changed = *known != state;
                *known = state;
                changed
            });
        }
    }

    async fn renew(&self) -> NodeState {
        // A renewal that takes longer than a lease lasts is none.
        let limit = self.every * RENEWALS_PER_TTL as u32;
        let renewed = tokio::time::timeout(limit, self.renew_and_look()).await;
        match renewed.unwrap_or_else(|_| Err(too_slow())) {
            Ok(schema) if schema.oldest_binary > SCHEMA_VERSION => {
                NodeState::TooOld { oldest_binary: schema.oldest_binary }
            }
            Ok(_) => NodeState::Healthy,
            Err(error) => NodeState::Failing { error: crate::error::describe(&error) },
        }
    }

    async fn renew_and_look(&self) -> Result<schema::SchemaState, StorageError> {
        self.leases.renew().await?;
        self.db.read(schema::read).await
    }
}

fn too_slow() -> StorageError {
    let slow = "the database did not answer before the leases ran out";
    StorageError::Unavailable(Arc::new(std::io::Error::new(std::io::ErrorKind::TimedOut, slow)))
}
