//! What people did on surfaces, as rows of this installation and nowhere else.

use std::sync::Arc;

use palyra_common::api::{Page, TelemetryCount};
use palyra_common::ids::EventId;
use palyra_common::telemetry::{
    ConsoleEvent, SystemEventRecord, UxEventKind, to_system_event_payload,
};
use palyra_common::time::{Clock, Timestamp};
use palyra_storage::{Database, StorageError, Tx, new_id};

use crate::error::GatewayError;
use crate::sessions::cursor;
use crate::store::system_events;

/// The events that surfaces tell. Cheap to clone.
#[derive(Clone)]
pub struct Telemetry {
    db: Database,
    clock: Arc<dyn Clock>,
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// It is kept under this id.
    Now(EventId),
    /// One of that id was there, and is kept as it was.
    Before(EventId),
}

/// What people did, counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryCounted {
    /// How often what happened and what came of it, in the order of the words.
    pub counts: Vec<TelemetryCount>,
    /// How many questions were decided.
    pub decided: u64,
    /// How long half of these waited at most, in milliseconds.
    pub median_waited_ms: Option<u64>,
}

impl Telemetry {
    /// The events in `db`.
    pub fn new(db: Database, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock }
    }

    /// Keeps an event, once under its id; without one it gets its own.
    pub async fn record_console_event(
        &self,
        id: Option<EventId>,
        event: &ConsoleEvent,
    ) -> Result<Recorded, StorageError> {
        let id = id.unwrap_or_else(new_id);
        let record = to_system_event_payload(event, id, self.clock.now());
        let is_new = self.db.write(move |tx: &mut Tx<'_>| system_events::add(tx, &record)).await?;
        Ok(if is_new { Recorded::Now(id) } else { Recorded::Before(id) })
    }

    /// Events, the newest first, from the one before `before` on.
    pub async fn list(
        &self,
        before: Option<(Timestamp, EventId)>,
        limit: u32,
    ) -> Result<Vec<SystemEventRecord>, StorageError> {
        self.db.read(move |tx| system_events::list(tx, before, limit)).await
    }

    /// A page of them; `after` is `next` of the page before.
    pub async fn page(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<SystemEventRecord>, GatewayError> {
        let after = after.map(cursor::<EventId>).transpose()?;
        let after = after.map(|(at, id)| (Timestamp::from_unix_millis(at), id));
        let items = self.list(after, limit).await?;
        let last = items.last().filter(|_| items.len() >= limit as usize);
        let next = last.map(|last| format!("{}.{}", last.at.as_unix_millis(), last.event_id));
        Ok(Page { items, next })
    }

    /// What there is from `since` on, counted on one consistent state.
    pub async fn count(&self, since: Timestamp) -> Result<TelemetryCounted, StorageError> {
        let count = move |tx: &mut Tx<'_>| {
            let kind = UxEventKind::ApprovalResolved;
            let (decided, median_waited_ms) = system_events::median(tx, kind, since)?;
            let counts = system_events::counted(tx, since)?;
            Ok(TelemetryCounted { counts, decided, median_waited_ms })
        };
        self.db.read(count).await
    }
}
