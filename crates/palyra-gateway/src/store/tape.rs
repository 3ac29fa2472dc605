//! `tape`: what happened in runs.

use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::TapeEventKind;
use palyra_common::tape::{SCHEMA, TapeEntry, TapeEvent};
use palyra_common::time::Timestamp;
use palyra_storage::{Param, Row, Sql, StorageError, Tx, params, sql, text};

use super::from_text;

const ADD: Sql = sql!(
    "INSERT INTO tape (run_id, seq, at, kind, spoken, payload) VALUES ($1, $2, $3, $4, $5, $6)"
);

const AFTER: Sql =
    sql!("SELECT seq, at, payload FROM tape WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3");

/// What decides about a run: pieces of answers do not.
const FOLDED: Sql = sql!(
    "SELECT seq, at, payload FROM tape
     WHERE run_id = $1 AND seq > $2 AND kind <> 'model.delta' ORDER BY seq"
);

/// The newest first.
const SPOKEN: Sql = sql!(
    "SELECT seq, at, payload FROM tape WHERE run_id = $1 AND spoken = 1 ORDER BY seq DESC LIMIT $2"
);

const DROP_DELTAS: Sql =
    sql!("DELETE FROM tape WHERE run_id = $1 AND seq >= $2 AND seq < $3 AND kind = 'model.delta'");

const SWEEP: Sql = sql!("DELETE FROM tape WHERE run_id = $1");

/// What stands in the payload column: the event, and the version of its shape.
#[derive(serde::Serialize, serde::Deserialize)]
struct Written<E> {
    v: u32,
    #[serde(flatten)]
    event: E,
}

/// Adds events with the numbers from `first` on.
pub(crate) fn add(
    tx: &mut Tx<'_>,
    run: RunId,
    first: i64,
    events: &[TapeEvent],
    now: Timestamp,
) -> Result<(), StorageError> {
    let run = run.to_string();
    let written: Vec<_> = events
        .iter()
        .map(|event| super::to_json(&Written { v: SCHEMA, event }))
        .collect::<Result<_, _>>()?;
    let sets: Vec<[Param<'_>; 6]> = (first..)
        .zip(events.iter().zip(&written))
        .map(|(seq, (event, payload))| {
            let (kind, spoken) = (event.kind(), is_spoken(event.kind()));
            [
                Param::from(&run),
                seq.into(),
                now.into(),
                kind.as_str().into(),
                spoken.into(),
                Param::from(payload),
            ]
        })
        .collect();
    tx.execute_many(&ADD, sets).map(drop)
}

/// Events behind `after`, in order.
pub(crate) fn after(
    tx: &mut Tx<'_>,
    run: RunId,
    after: i64,
    limit: u32,
) -> Result<Vec<TapeEntry>, StorageError> {
    tx.query(&AFTER, params![text(run), after, limit], read)
}

/// The events behind `after` that the state of a run is made of.
pub(crate) fn folded(
    tx: &mut Tx<'_>,
    run: RunId,
    after: i64,
) -> Result<Vec<TapeEntry>, StorageError> {
    tx.query(&FOLDED, params![text(run), after], read)
}

/// What a model reads of a run, the newest first.
pub(crate) fn spoken(
    tx: &mut Tx<'_>,
    run: RunId,
    limit: u32,
) -> Result<Vec<TapeEntry>, StorageError> {
    tx.query(&SPOKEN, params![text(run), limit], read)
}

/// Takes away pieces of an answer that is there as a whole.
pub(crate) fn drop_deltas(
    tx: &mut Tx<'_>,
    run: RunId,
    from: i64,
    until: i64,
) -> Result<(), StorageError> {
    tx.execute(&DROP_DELTAS, params![text(run), from, until]).map(drop)
}

pub(crate) fn sweep(tx: &mut Tx<'_>, run: RunId) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![text(run)])
}

/// Whether a model reads it.
pub(crate) fn is_spoken(kind: TapeEventKind) -> bool {
    matches!(
        kind,
        TapeEventKind::InputMessage
            | TapeEventKind::ModelCompleted
            | TapeEventKind::ToolCompleted
            | TapeEventKind::RunFinished
    )
}

fn read(row: &Row<'_>) -> Result<TapeEntry, StorageError> {
    let written: Written<TapeEvent> = from_text(&row.get::<String>(2)?)?;
    Ok(TapeEntry { seq: row.get(0)?, at: row.get(1)?, event: written.event })
}
