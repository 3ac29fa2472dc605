//! `tape`: what happened in runs.

use palyra_common::ids::{RunId, SessionId};
use palyra_common::runtime_contracts::TapeEventKind;
use palyra_common::tape::{DeliveryEnqueued, SCHEMA, TapeEntry, TapeEvent};
use palyra_common::time::Timestamp;
use palyra_storage::{Param, Row, Sql, StorageError, Tx, params, sql, text};

use super::from_text;
use super::sessions::Fork;

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

macro_rules! spoken_runs {
    ($history:literal, $run:literal, $order:literal) => {
        concat!(
            "SELECT t.seq, t.at, t.payload, r.id, r.history FROM (
                 SELECT id, history FROM runs
                 WHERE session_id = $1 AND history < $2 AND history > $5 AND history >= ",
            $history,
            " AND session_seq >= ",
            $run,
            " ORDER BY history ",
            $order,
            " LIMIT $3) r
             JOIN tape t ON t.run_id = r.id AND t.spoken = 1 AND t.kind <> 'run.finished'
             ORDER BY r.history ",
            $order,
            ", t.seq DESC LIMIT $4"
        )
    };
}

/// What a model reads of the runs that have ended in a session between two places, the newest first. From
/// where on is asked for here: it may have been reset while the run is worked on. The place of the run
/// decides; the one in the history follows from it, and keeps what was reset from being walked over.
const SPOKEN_BEFORE: Sql = sql!(spoken_runs!(
    "(SELECT shown_history FROM sessions WHERE id = $1)",
    "(SELECT shown_run FROM sessions WHERE id = $1)",
    "DESC"
));

/// The same, the oldest runs first, and of each run the newest first.
const SPOKEN_AFTER: Sql = sql!(spoken_runs!(
    "(SELECT shown_history FROM sessions WHERE id = $1)",
    "(SELECT shown_run FROM sessions WHERE id = $1)",
    "ASC"
));

/// The same two of a part of a session.
const PART_BEFORE: Sql = sql!(spoken_runs!("$6", "$7", "DESC"));
const PART_AFTER: Sql = sql!(spoken_runs!("$6", "$7", "ASC"));

/// The newest first.
const SPOKEN: Sql = sql!(
    "SELECT seq, at, payload FROM tape WHERE run_id = $1 AND spoken = 1 ORDER BY seq DESC LIMIT $2"
);

/// What a run itself has said and got, the oldest first.
const STEPS: Sql = sql!(
    "SELECT payload FROM tape
     WHERE run_id = $1 AND spoken = 1 AND kind IN ('model.completed', 'tool.completed')
     ORDER BY seq LIMIT $2"
);

/// What was brought to a run, the newest first.
const BROUGHT: Sql = sql!(
    "SELECT payload FROM tape
     WHERE run_id = $1 AND spoken = 1 AND kind = 'input.brought' ORDER BY seq DESC LIMIT 1"
);

/// What a run was asked, the newest first.
const INPUTS_BEFORE: Sql = sql!(
    "SELECT seq, at, payload FROM tape
     WHERE run_id = $1 AND seq < $2 AND kind IN ('input.message', 'input.brought')
     ORDER BY seq DESC"
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

/// An event as it is passed on to whoever does not look into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapeLine {
    /// Its number: larger than those of all events before it.
    pub seq: i64,
    /// When it was written down.
    pub at: Timestamp,
    /// What happened.
    pub kind: String,
    /// The rest of it, as JSON.
    pub payload: String,
    /// The version of its shape.
    pub schema: u32,
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

/// The same, as it is passed on.
pub(crate) fn lines_after(
    tx: &mut Tx<'_>,
    run: RunId,
    after: i64,
    limit: u32,
) -> Result<Vec<TapeLine>, StorageError> {
    tx.query(&AFTER, params![text(run), after, limit], |row| {
        let (seq, at, written) = (row.get(0)?, row.get(1)?, row.get::<String>(2)?);
        as_line(seq, at, &written)
    })
}

/// An event as it is passed on.
pub(crate) fn line(entry: TapeEntry) -> Result<TapeLine, StorageError> {
    let written = super::to_json(&Written { v: SCHEMA, event: &entry.event })?;
    as_line(entry.seq, entry.at, &written)
}

fn as_line(seq: i64, at: Timestamp, written: &str) -> Result<TapeLine, StorageError> {
    let other = || StorageError::InvalidValue { what: "an event has another form".to_owned() };
    let (schema, kind, payload) = taken_apart(written).ok_or_else(other)?;
    Ok(TapeLine { seq, at, kind: kind.to_owned(), payload: payload.to_owned(), schema })
}

/// What [`Written`] puts together, in its order: so nobody reads a text only to write it again.
fn taken_apart(written: &str) -> Option<(u32, &str, &str)> {
    let (schema, rest) = written.strip_prefix("{\"v\":")?.split_once(",\"kind\":\"")?;
    let (kind, rest) = rest.split_once("\",\"payload\":")?;
    Some((schema.parse().ok()?, kind, rest.strip_suffix('}')?))
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

/// What a run itself has said and got, the oldest first, if that is no more than so many events and bytes
/// as it is written down. Of more nothing is looked into.
pub(crate) fn steps(
    tx: &mut Tx<'_>,
    run: RunId,
    (events, bytes): (u32, usize),
) -> Result<Option<Vec<TapeEvent>>, StorageError> {
    let mut left = Some(bytes);
    let steps = tx.query(&STEPS, params![text(run), events + 1], |row| {
        let written: String = row.get(0)?;
        left = left.and_then(|left| left.checked_sub(written.len()));
        left.map(|_| from_text::<TapeEvent>(&written)).transpose()
    })?;
    let steps: Option<Vec<_>> = steps.into_iter().collect();
    Ok(steps.filter(|steps| steps.len() <= events as usize))
}

/// Who has brought what a run began with, if anything was brought. The rest of it is passed over.
pub(crate) fn bringer(tx: &mut Tx<'_>, run: RunId) -> Result<Option<String>, StorageError> {
    #[derive(serde::Deserialize)]
    struct Event {
        payload: Payload,
    }
    #[derive(serde::Deserialize)]
    struct Payload {
        sender: String,
    }
    tx.query_opt(&BROUGHT, params![text(run)], |row| {
        Ok(from_text::<Event>(&row.get::<String>(0)?)?.payload.sender)
    })
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
    by_run(tx, sql, params![text(session), until, runs, events, after])
}

/// The same of a part of the history of a session.
pub(crate) fn spoken_in(
    tx: &mut Tx<'_>,
    part: Fork,
    (after, until): (i64, i64),
    (runs, events): (u32, u32),
    from: From,
) -> Result<Vec<Spoken>, StorageError> {
    let sql = match from {
        From::Newest => &PART_BEFORE,
        From::Oldest => &PART_AFTER,
    };
    let Fork { from: session, shown, until: end } = part;
    let until = until.min(end);
    let params = params![text(session), until, runs, events, after, shown.history, shown.run];
    by_run(tx, sql, params)
}

fn by_run(tx: &mut Tx<'_>, sql: &Sql, params: &[Param<'_>]) -> Result<Vec<Spoken>, StorageError> {
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
        | TapeEvent::InputBrought(_)
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
        | TapeEvent::A2uiUpdate(_)
        | TapeEvent::DeliveryEnqueued(_)
        | TapeEvent::DeliverySettled(_)
        | TapeEvent::AuxTask(_) => false,
    }
}

fn read(row: &Row<'_>) -> Result<TapeEntry, StorageError> {
    // The version beside the event is passed over: there is one so far.
    Ok(TapeEntry { seq: row.get(0)?, at: row.get(1)?, event: from_text(&row.get::<String>(2)?)? })
}

#[cfg(test)]
mod tests;
