//! `tape`: what happened in runs.

use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::TapeEventKind;
use palyra_common::tape::{DeliveryEnqueued, SCHEMA, TapeEntry, TapeEvent};
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, params, sql, text};

use super::from_text;

const ADD: Sql = sql!(
    "INSERT INTO tape (run_id, seq, at, kind, spoken, payload) VALUES ($1, $2, $3, $4, $5, $6)"
);

/// Under the number that was counted last. Nobody waits for that number to be read.
const ADD_LAST: Sql = sql!(
    "INSERT INTO tape (run_id, seq, at, kind, spoken, payload)
     SELECT $1, next_seq - 1, $2, $3, $4, $5 FROM runs WHERE id = $1"
);

/// The messages of a run.
const ENQUEUED: Sql = sql!(
    "SELECT seq, at, payload FROM tape
     WHERE run_id = $1 AND kind = 'delivery.enqueued' ORDER BY seq"
);

const AFTER: Sql =
    sql!("SELECT seq, at, payload FROM tape WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3");

const LAST_PHASE: Sql = sql!(
    "SELECT seq, at, payload FROM tape
     WHERE run_id = $1 AND kind = 'run.phase' ORDER BY seq DESC LIMIT 1"
);

const END: Sql = sql!(
    "SELECT seq, at, payload FROM tape
     WHERE run_id = $1 AND kind = 'run.finished' ORDER BY seq DESC LIMIT 1"
);

/// What decides about a run: pieces of answers do not.
const FOLDED: Sql = sql!(
    "SELECT seq, at, payload FROM tape
     WHERE run_id = $1 AND seq > $2 AND kind <> 'model.delta' ORDER BY seq"
);

/// What a model reads of the runs that have ended in a session between two places, the newest first.
const SPOKEN_BEFORE: Sql = sql!(
    "SELECT t.seq, t.at, t.payload, r.id, r.history FROM (
         SELECT id, history FROM runs WHERE session_id = $1 AND history < $2 AND history > $5
         ORDER BY history DESC LIMIT $3) r
     JOIN tape t ON t.run_id = r.id AND t.spoken = 1 AND t.kind <> 'run.finished'
     ORDER BY r.history DESC, t.seq DESC LIMIT $4"
);

/// The same, the oldest runs first, and of each run the newest first.
const SPOKEN_AFTER: Sql = sql!(
    "SELECT t.seq, t.at, t.payload, r.id, r.history FROM (
         SELECT id, history FROM runs WHERE session_id = $1 AND history < $2 AND history > $5
         ORDER BY history LIMIT $3) r
     JOIN tape t ON t.run_id = r.id AND t.spoken = 1 AND t.kind <> 'run.finished'
     ORDER BY r.history, t.seq DESC LIMIT $4"
);

/// The newest first.
const SPOKEN: Sql = sql!(
    "SELECT seq, at, payload FROM tape WHERE run_id = $1 AND spoken = 1 ORDER BY seq DESC LIMIT $2"
);

/// What a run was asked, the newest first.
const INPUTS_BEFORE: Sql = sql!(
    "SELECT seq, at, payload FROM tape
     WHERE run_id = $1 AND seq < $2 AND kind = 'input.message' ORDER BY seq DESC"
);

const DROP_DELTAS: Sql =
    sql!("DELETE FROM tape WHERE run_id = $1 AND seq >= $2 AND seq < $3 AND kind = 'model.delta'");

const SILENCE: Sql = sql!("UPDATE tape SET spoken = 0 WHERE run_id = $1 AND spoken = 1");

const SWEEP: Sql = sql!("DELETE FROM tape WHERE run_id = $1");

/// What stands in the payload column: the event, and the version of its shape.
#[derive(serde::Serialize)]
struct Written<'a> {
    v: u32,
    #[serde(flatten)]
    event: &'a TapeEvent,
}

/// An event as it is written.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    kind: TapeEventKind,
    spoken: bool,
    payload: String,
}

/// What is to be written about events. Made before the transaction where that is possible: others wait
/// for it to end.
pub(crate) fn lines(events: &[TapeEvent]) -> Result<Vec<Line>, StorageError> {
    let line = |event: &TapeEvent| {
        let payload = super::to_json(&Written { v: SCHEMA, event })?;
        Ok(Line { kind: event.kind(), spoken: is_spoken(event), payload })
    };
    events.iter().map(line).collect()
}

/// Adds events with the numbers from `first` on.
pub(crate) fn add(
    tx: &mut Tx<'_>,
    run: RunId,
    first: i64,
    lines: &[Line],
    now: Timestamp,
) -> Result<(), StorageError> {
    let run = run.to_string();
    for (seq, Line { kind, spoken, payload }) in (first..).zip(lines) {
        let params = params![&run, seq, now, kind.as_str(), *spoken, payload];
        tx.execute_later(&ADD, params)?;
    }
    Ok(())
}

/// Adds an event that was counted as the last one of its run, if there is such a run.
pub(crate) fn add_last(
    tx: &mut Tx<'_>,
    run: RunId,
    event: &TapeEvent,
    now: Timestamp,
) -> Result<(), StorageError> {
    for Line { kind, spoken, payload } in lines(std::slice::from_ref(event))? {
        let params = params![text(run), now, kind.as_str(), spoken, &payload];
        tx.execute_later(&ADD_LAST, params)?;
    }
    Ok(())
}

/// The messages that a run has sent.
pub(crate) fn enqueued(tx: &mut Tx<'_>, run: RunId) -> Result<Vec<DeliveryEnqueued>, StorageError> {
    let sent = tx.query(&ENQUEUED, params![text(run)], read)?.into_iter();
    let sent = sent.filter_map(|entry| match entry.event {
        TapeEvent::DeliveryEnqueued(sent) => Some(sent),
        _ => None,
    });
    Ok(sent.collect())
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

/// The last phase that is told.
pub(crate) fn last_phase(tx: &mut Tx<'_>, run: RunId) -> Result<Option<TapeEntry>, StorageError> {
    tx.query_opt(&LAST_PHASE, params![text(run)], read)
}

/// The end of a run.
pub(crate) fn end(tx: &mut Tx<'_>, run: RunId) -> Result<Option<TapeEntry>, StorageError> {
    tx.query_opt(&END, params![text(run)], read)
}

/// What a model reads of a run, the newest first.
pub(crate) fn spoken(
    tx: &mut Tx<'_>,
    run: RunId,
    limit: u32,
) -> Result<Vec<TapeEntry>, StorageError> {
    tx.query(&SPOKEN, params![text(run), limit], read)
}

/// What a run was asked before the event `before`, the newest first.
pub(crate) fn inputs_before(
    tx: &mut Tx<'_>,
    run: RunId,
    before: i64,
) -> Result<Vec<TapeEntry>, StorageError> {
    tx.query(&INPUTS_BEFORE, params![text(run), before], read)
}

/// What a model reads of a run that has ended.
pub(crate) struct Spoken {
    /// Its place in the history.
    pub(crate) place: i64,
    pub(crate) run: RunId,
    /// The newest first.
    pub(crate) entries: Vec<TapeEntry>,
}

/// From which end of a conversation it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Newest,
    Oldest,
}

/// What a model reads of a session behind one place and before another, in at most so many runs and
/// events: by run. Of the last run there may be less than all.
pub(crate) fn spoken_between(
    tx: &mut Tx<'_>,
    session: SessionId,
    (after, until): (i64, i64),
    (runs, events): (u32, u32),
    from: From,
) -> Result<Vec<Spoken>, StorageError> {
    let sql = match from {
        From::Newest => &SPOKEN_BEFORE,
        From::Oldest => &SPOKEN_AFTER,
    };
    let params = params![text(session), until, runs, events, after];
    let mut all: Vec<Spoken> = Vec::new();
    let found = tx.query(sql, params, |row| Ok((row.parse(3)?, row.get(4)?, read(row)?)))?;
    for (run, place, entry) in found {
        match all.last_mut() {
            Some(last) if last.run == run => last.entries.push(entry),
            _ => all.push(Spoken { place, run, entries: vec![entry] }),
        }
    }
    Ok(all)
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

/// Keeps a run from being read by the models that are asked after it.
pub(crate) fn silence(tx: &mut Tx<'_>, run: RunId) -> Result<(), StorageError> {
    tx.execute(&SILENCE, params![text(run)]).map(drop)
}

pub(crate) fn sweep(tx: &mut Tx<'_>, run: RunId) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![text(run)])
}

/// Whether a model reads it.
pub(crate) fn is_spoken(event: &TapeEvent) -> bool {
    match event {
        TapeEvent::InputMessage(_)
        | TapeEvent::ModelCompleted(_)
        | TapeEvent::ToolCompleted(_)
        | TapeEvent::RunFinished(_) => true,
        TapeEvent::ModelAbandoned(lost) => lost.said.is_some(),
        TapeEvent::RunQueued(_)
        | TapeEvent::RunPhase(_)
        | TapeEvent::ModelRequested(_)
        | TapeEvent::ModelDelta(_)
        | TapeEvent::ToolProposed(_)
        | TapeEvent::ToolGated(_)
        | TapeEvent::ApprovalRequested(_)
        | TapeEvent::ApprovalDecided(_)
        | TapeEvent::ToolStarted(_)
        | TapeEvent::DeliveryEnqueued(_)
        | TapeEvent::DeliverySettled(_)
        | TapeEvent::AuxTask(_) => false,
    }
}

fn read(row: &Row<'_>) -> Result<TapeEntry, StorageError> {
    // The version beside the event is passed over: there is one so far.
    Ok(TapeEntry { seq: row.get(0)?, at: row.get(1)?, event: from_text(&row.get::<String>(2)?)? })
}
