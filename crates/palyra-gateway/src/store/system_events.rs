//! `system_events`: what people did on a surface.

use palyra_common::api::TelemetryCount;
use palyra_common::ids::EventId;
use palyra_common::telemetry::{SystemEventRecord, UxEventKind};
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, claim_sql, params, sql, text};

/// What was recorded stays as it was.
const ADD: Sql = sql!(
    "INSERT INTO system_events (event_id, at, kind, surface, section, outcome, latency_ms,
         session_id, run_id, summary)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (event_id) DO NOTHING"
);

/// The newest first.
const LIST: Sql = sql!(
    "SELECT event_id, at, kind, surface, section, outcome, latency_ms, session_id, run_id, summary
     FROM system_events WHERE at < $1 OR at = $1 AND event_id < $2
     ORDER BY at DESC, event_id DESC LIMIT $3"
);

const COUNT: Sql = sql!(
    "SELECT kind, outcome, count(*) FROM system_events WHERE at >= $1
     GROUP BY kind, outcome ORDER BY kind, outcome"
);

const COUNT_OF: Sql = sql!("SELECT count(*) FROM system_events WHERE kind = $1 AND at >= $2");

/// One or two in the middle of all, by how long they took.
const MIDDLE: Sql = sql!(
    "SELECT latency_ms FROM system_events WHERE kind = $1 AND at >= $2
     ORDER BY latency_ms LIMIT $3 OFFSET $4"
);

/// The first that is one too many.
const BEYOND: Sql = sql!(
    "SELECT at, event_id FROM system_events ORDER BY at DESC, event_id DESC LIMIT 1 OFFSET $1"
);

const SWEEP: Sql = claim_sql!(
    "DELETE FROM system_events WHERE event_id IN (
         SELECT event_id FROM system_events
         WHERE at < $1 OR at = $1 AND event_id <= $2
         ORDER BY at, event_id LIMIT $3",
    ")"
);

/// Says whether there was none of that id.
pub(crate) fn add(tx: &mut Tx<'_>, event: &SystemEventRecord) -> Result<bool, StorageError> {
    let took = i64::try_from(event.latency_ms).unwrap_or(i64::MAX);
    let params = params![
        text(event.event_id),
        event.at,
        event.kind.as_str(),
        event.surface.as_str(),
        event.section.as_str(),
        event.outcome.as_str(),
        took,
        event.session_id.map(text),
        event.run_id.map(text),
        &event.summary,
    ];
    Ok(tx.execute(&ADD, params)? == 1)
}

/// The newest first, from the one before `before` on.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    before: Option<(Timestamp, EventId)>,
    limit: u32,
) -> Result<Vec<SystemEventRecord>, StorageError> {
    let (at, id) = match before {
        Some((at, id)) => (at, id.to_string()),
        None => (Timestamp::MAX, String::new()),
    };
    tx.query(&LIST, params![at, &id, limit], read)
}

/// How often what happened, and what came of it.
pub(crate) fn counted(
    tx: &mut Tx<'_>,
    since: Timestamp,
) -> Result<Vec<TelemetryCount>, StorageError> {
    tx.query(&COUNT, params![since], |row| {
        Ok(TelemetryCount {
            kind: row.parse(0)?,
            outcome: row.parse(1)?,
            count: row.get::<i64>(2)?.unsigned_abs(),
        })
    })
}

/// How many there are of a kind, and how many milliseconds half of them took at most.
pub(crate) fn median(
    tx: &mut Tx<'_>,
    kind: UxEventKind,
    since: Timestamp,
) -> Result<(u64, Option<u64>), StorageError> {
    let count = tx.query_opt(&COUNT_OF, params![kind.as_str(), since], |row| row.get::<i64>(0))?;
    let count = count.unwrap_or_default();
    if count == 0 {
        return Ok((0, None));
    }
    // Of an even number there are two in the middle.
    let (offset, both) = ((count - 1) / 2, 2 - count % 2);
    let params = params![kind.as_str(), since, both, offset];
    let middle: Vec<i64> = tx.query(&MIDDLE, params, |row| row.get(0))?;
    let found = i64::try_from(middle.len()).unwrap_or(1).max(1);
    let median = middle.iter().sum::<i64>() / found;
    Ok((count.unsigned_abs(), Some(median.unsigned_abs())))
}

/// Removes some of those that are from before `before`, or beyond the newest `count`.
pub(crate) fn sweep(
    tx: &mut Tx<'_>,
    before: Timestamp,
    count: i64,
    limit: u32,
) -> Result<u64, StorageError> {
    let beyond = tx.query_opt(&BEYOND, params![count], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // No id is empty, so that of its own moment nothing goes for its age.
    let old: (Timestamp, String) = (before, String::new());
    let (at, id) = beyond.map_or_else(|| old.clone(), |beyond| old.clone().max(beyond));
    tx.execute(&SWEEP, params![at, &id, limit])
}

fn read(row: &Row<'_>) -> Result<SystemEventRecord, StorageError> {
    Ok(SystemEventRecord {
        event_id: row.parse(0)?,
        at: row.get(1)?,
        kind: row.parse(2)?,
        surface: row.parse(3)?,
        section: row.parse(4)?,
        outcome: row.parse(5)?,
        latency_ms: row.get::<i64>(6)?.unsigned_abs(),
        session_id: id_of(row, 7)?,
        run_id: id_of(row, 8)?,
        summary: row.get(9)?,
    })
}

fn id_of<T>(row: &Row<'_>, column: usize) -> Result<Option<T>, StorageError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let text: Option<String> = row.get(column)?;
    text.map(|_| row.parse(column)).transpose()
}
