//! How the connectors of this node do, kept where everybody can ask.

use std::sync::Arc;

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::{ConnectorEventKind, ConnectorLiveness};
use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_policy::connector::{Unconnected, unconnected};
use palyra_storage::lease::Lease;
use palyra_storage::{Database, EngineKind, StorageError, Tx};

use super::here::Here;
use crate::connection::RuntimeSnapshot;
use crate::connectors::note;
use crate::store::connector_events;
use crate::store::connector_status::{self, ConnectorStatus};

/// How often nodes that share a database tell each other how their connections are.
pub(super) const TELL_EVERY: Duration = Duration::from_secs(15);
/// A node that has said nothing for this long does not run what it said it runs.
const BELIEVED_FOR: Duration = Duration::from_mins(1);

/// How many events say whether a connector may still be starting: some say nothing about that.
const LAST: u32 = 10;

/// What is said about one connector.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) connector: ConnectorId,
    /// Under which it is said: of another node's connector, that node tells.
    pub(super) lease: Lease,
    pub(super) liveness: ConnectorLiveness,
    pub(super) restarts: i64,
    pub(super) last_error: Option<(String, Timestamp)>,
    /// What has just happened to it, if anything.
    pub(super) event: Option<(ConnectorEventKind, Option<String>)>,
}

/// Tells how connectors do. Cheap to clone.
#[derive(Clone)]
pub struct Statuses {
    db: Database,
    clock: Arc<dyn Clock>,
    here: Here,
    /// Since when this node looks after connectors.
    since: Timestamp,
}

impl Statuses {
    pub(super) fn new(db: Database, clock: Arc<dyn Clock>, here: Here) -> Self {
        let since = clock.now();
        Self { db, clock, here, since }
    }

    /// How a connector is that is to run, lacks nothing and has no connection.
    pub async fn unconnected(&self, connector: &ConnectorId) -> Result<Unconnected, StorageError> {
        let id = connector.clone();
        let last = self.db.read(move |tx| connector_events::list(tx, &id, None, LAST)).await?;
        let last: Vec<_> = last.into_iter().map(|event| (event.kind, event.at)).collect();
        Ok(unconnected(&last, self.since, self.clock.now()))
    }

    /// How a connector does: asked anew if it runs here, or else as its node last said. Nothing: it
    /// has never run.
    pub async fn of(
        &self,
        connector: &ConnectorId,
    ) -> Result<Option<ConnectorStatus>, StorageError> {
        let id = connector.clone();
        let row = self.db.read(move |tx| connector_status::one(tx, &id)).await?;
        let Some(row) = row else { return Ok(None) };
        if let Some(connection) = self.connection(connector) {
            let liveness = match (connection.connected_since, row.liveness) {
                (Some(_), _) => ConnectorLiveness::Running,
                (None, ConnectorLiveness::Running) => ConnectorLiveness::Restarting,
                (None, told) => told,
            };
            let told_at = self.clock.now();
            return Ok(Some(ConnectorStatus { liveness, connection, told_at, ..row }));
        }
        let own = row.node == self.db.incarnation().to_string();
        let silent = self.clock.now().since(row.told_at) > BELIEVED_FOR;
        let believed = own || (self.db.engine() == EngineKind::Postgres && !silent);
        let connection = if believed { row.connection } else { RuntimeSnapshot::default() };
        let liveness = if believed { row.liveness } else { ConnectorLiveness::Stopped };
        Ok(Some(ConnectorStatus { liveness, connection, ..row }))
    }

    /// How the connection of a connector is, if it runs here.
    pub(super) fn connection(&self, connector: &ConnectorId) -> Option<RuntimeSnapshot> {
        self.here.find(connector).map(|(_, connection)| connection.snapshot())
    }

    /// Writes down how connectors do and what has happened to them. What is said of one whose lease
    /// was lost is left out.
    pub(super) async fn tell(&self, mut said: Vec<Said>) -> Result<(), StorageError> {
        if said.is_empty() {
            return Ok(());
        }
        // Rows of leases are locked, in the same order by everybody.
        said.sort_by(|one, other| one.connector.cmp(&other.connector));
        let (now, node) = (self.clock.now(), self.db.incarnation().to_string());
        let rows: Vec<_> = said
            .into_iter()
            .map(|said| {
                let connection = self.connection(&said.connector).unwrap_or_default();
                let (last_error, last_error_at) = said.last_error.clone().unzip();
                let (node, told_at) = (node.clone(), now);
                let (liveness, restarts) = (said.liveness, said.restarts);
                let row = ConnectorStatus {
                    node,
                    liveness,
                    connection,
                    restarts,
                    last_error,
                    last_error_at,
                    told_at,
                };
                (said, row)
            })
            .collect();
        let write = move |tx: &mut Tx<'_>| {
            for (said, row) in &rows {
                match said.lease.fence(tx) {
                    Err(StorageError::StaleLease { .. }) => continue,
                    fenced => fenced?,
                }
                connector_status::save(tx, &said.connector, row)?;
                if let Some((kind, detail)) = &said.event {
                    note(tx, &said.connector, *kind, detail.clone(), now)?;
                    tx.notify(crate::connectors::TOPIC_STATUS);
                }
            }
            Ok(())
        };
        self.db.write(write).await
    }
}
