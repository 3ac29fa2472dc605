//! `connectors`: the instances that an operator has set up.

use palyra_common::ids::ConnectorId;
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::ConnectorReadiness;
use palyra_common::time::{Duration, Timestamp};
use palyra_policy::outbox::{Moment, connector_time};
use palyra_storage::{Row, Sql, StorageError, Tx, params, sql};
use serde_json::Value;

use super::{from_json, from_text, to_json};

macro_rules! columns {
    () => {
        "id, kind, enabled, settings, queue, readiness, readiness_reason, paused_at, pause_reason,
         stopped_since, stopped_before, version, created_at"
    };
}

const ADD: Sql = sql!(
    "INSERT INTO connectors (id, kind, enabled, settings, queue, readiness, stopped_before,
         version, created_at)
     VALUES ($1, $2, $3, $4, $5, 'ready', 0, 1, $6) ON CONFLICT (id) DO NOTHING"
);

const ONE: Sql = sql!(concat!("SELECT ", columns!(), " FROM connectors WHERE id = $1"));

/// Reads a connector for whoever is about to change it.
const LOCK: Sql =
    sql!(concat!("UPDATE connectors SET version = version WHERE id = $1 RETURNING ", columns!()));

const ALL: Sql = sql!(concat!("SELECT ", columns!(), " FROM connectors ORDER BY id"));

const SAVE: Sql = sql!(
    "UPDATE connectors SET enabled = $2, settings = $3, queue = $4, readiness = $5,
         readiness_reason = $6, paused_at = $7, pause_reason = $8, stopped_since = $9,
         stopped_before = $10, version = $11
     WHERE id = $1"
);

const QUEUE: Sql = sql!(
    "SELECT queue, stopped_since, stopped_before, enabled, paused_at, readiness, settings
         FROM connectors WHERE id = $1"
);

/// A connector as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Connector {
    /// Its name.
    pub id: ConnectorId,
    /// Which adapter it has.
    pub kind: String,
    /// Whether an operator wants it to run.
    pub enabled: bool,
    /// What its adapter is told.
    pub settings: Value,
    /// How its queue works.
    pub queue: QueueSettings,
    /// Whether it has what it needs.
    pub readiness: ConnectorReadiness,
    /// Why not, in words.
    pub readiness_reason: Option<String>,
    /// Since when nothing goes out, because an operator wants it so.
    pub paused_at: Option<Timestamp>,
    /// Why, in the operator's words.
    pub pause_reason: Option<String>,
    /// Since when it has not been able to send.
    pub stopped_since: Option<Timestamp>,
    /// For how long it was not able to before that.
    pub stopped_before: Duration,
    /// Grows with each change by an operator.
    pub version: i64,
    /// When it was set up.
    pub created_at: Timestamp,
}

/// What the queue of a connector needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub(crate) settings: QueueSettings,
    clock: QueueClock,
    /// Whether anything may go out now.
    pub(crate) open: bool,
    /// What the adapter is told, unread.
    told: String,
}

/// The clock by which what waits in a queue grows old.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueClock {
    pub(crate) stopped_since: Option<Timestamp>,
    pub(crate) stopped_before: Duration,
}

impl QueueClock {
    pub(crate) fn moment(self, now: Timestamp) -> Moment {
        let connector = connector_time(now, self.stopped_since, self.stopped_before);
        Moment { now, connector }
    }
}

impl Queue {
    pub(crate) fn moment(&self, now: Timestamp) -> Moment {
        self.clock.moment(now)
    }

    /// Whether what goes out now goes out through an adapter that was told this.
    pub(crate) fn is_open_to(&self, settings: &Value) -> Result<bool, StorageError> {
        Ok(self.open && from_text::<Value>(&self.told)? == *settings)
    }
}

/// Says whether it was not there yet.
pub(crate) fn add(tx: &mut Tx<'_>, connector: &Connector) -> Result<bool, StorageError> {
    let (settings, queue) = (to_json(&connector.settings)?, to_json(&connector.queue)?);
    let params = params![
        connector.id.as_str(),
        &connector.kind,
        connector.enabled,
        &settings,
        &queue,
        connector.created_at,
    ];
    Ok(tx.execute(&ADD, params)? == 1)
}

pub(crate) fn one(tx: &mut Tx<'_>, id: &ConnectorId) -> Result<Option<Connector>, StorageError> {
    tx.query_opt(&ONE, params![id.as_str()], read)
}

pub(crate) fn lock(tx: &mut Tx<'_>, id: &ConnectorId) -> Result<Option<Connector>, StorageError> {
    tx.query_opt(&LOCK, params![id.as_str()], read)
}

pub(crate) fn all(tx: &mut Tx<'_>) -> Result<Vec<Connector>, StorageError> {
    tx.query(&ALL, params![], read)
}

pub(crate) fn save(tx: &mut Tx<'_>, connector: &Connector) -> Result<(), StorageError> {
    let (settings, queue) = (to_json(&connector.settings)?, to_json(&connector.queue)?);
    let params = params![
        connector.id.as_str(),
        connector.enabled,
        &settings,
        &queue,
        connector.readiness.as_str(),
        connector.readiness_reason.as_deref(),
        connector.paused_at,
        connector.pause_reason.as_deref(),
        connector.stopped_since,
        millis(connector.stopped_before),
        connector.version,
    ];
    tx.execute(&SAVE, params).map(drop)
}

pub(crate) fn queue(tx: &mut Tx<'_>, id: &ConnectorId) -> Result<Option<Queue>, StorageError> {
    tx.query_opt(&QUEUE, params![id.as_str()], |row| {
        Ok(Queue {
            settings: from_json(row, 0)?,
            clock: QueueClock { stopped_since: row.get(1)?, stopped_before: row.get(2)? },
            open: row.get::<i64>(3)? != 0
                && row.get::<Option<i64>>(4)?.is_none()
                && row.parse::<ConnectorReadiness>(5)? == ConnectorReadiness::Ready,
            told: row.get(6)?,
        })
    })
}

fn read(row: &Row<'_>) -> Result<Connector, StorageError> {
    Ok(Connector {
        id: row.parse(0)?,
        kind: row.get(1)?,
        enabled: row.get::<i64>(2)? != 0,
        settings: from_json(row, 3)?,
        queue: from_json(row, 4)?,
        readiness: row.parse(5)?,
        readiness_reason: row.get(6)?,
        paused_at: row.get(7)?,
        pause_reason: row.get(8)?,
        stopped_since: row.get(9)?,
        stopped_before: row.get(10)?,
        version: row.get(11)?,
        created_at: row.get(12)?,
    })
}

fn millis(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}
