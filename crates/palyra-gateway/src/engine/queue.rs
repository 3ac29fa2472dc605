//! The order of runs within a session. Whoever changes it has locked the session first, so that
//! "queue behind" and "nothing queued" cannot both win.

use palyra_common::ids::{AgentId, ConnectorId, ConversationId, RunId, SessionId};
use palyra_common::runtime_contracts::RunLifecyclePhase;
use palyra_common::tape::{Input, Parent, Queued, TapeEvent};
use palyra_common::text::strip_nul;
use palyra_common::time::{Duration, Timestamp};
use palyra_storage::{StorageError, Tx, new_id};

use super::TOPIC;
use crate::error::GatewayError;
use crate::store::sessions::{NewSession, Session};
use crate::store::{runs, sessions, tape};
use crate::streams;

/// More inputs than this do not wait as runs of their own: they join the last one, unless it was begun.
const MOST_WAITING: i64 = 50;
/// How many inputs join one run, and how many bytes: what is more begins the next. An agent reads all
/// that it is asked at once.
const MOST_JOINED: u32 = 64;
const MOST_JOINED_BYTES: usize = 16 * 1024;
/// How long an input may wait to be begun, from when it came in, or was allowed to go on.
pub(crate) const BEGIN_WITHIN: Duration = Duration::from_days(1);
/// How deep runs may be below each other.
pub(crate) const MOST_DEPTH: u32 = 3;

/// The conversation that an input belongs to.
#[derive(Debug, Clone)]
pub enum Place<'a> {
    /// One that there is.
    Session(SessionId),
    /// The one with this key, which begins with this input if there is none.
    Key {
        /// What makes it the same conversation.
        key: &'a str,
        /// Who answers, from now on.
        agent: &'a AgentId,
        /// Where people talk.
        surface: &'a str,
        /// Where answers go.
        reply_to: Option<(&'a ConnectorId, &'a ConversationId)>,
    },
}

/// Something to be answered.
#[derive(Debug, Clone)]
pub struct NewInput<'a> {
    /// Where.
    pub place: Place<'a>,
    /// What.
    pub input: Input,
    /// The message that it is, by the platform's name.
    pub answers: Option<&'a str>,
    /// The call that it is made for.
    pub parent: Option<Parent>,
    /// The token of a worker that has room for it.
    pub worker: Option<i64>,
}

/// What became of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submitted {
    /// The run that answers it.
    pub run: RunId,
    /// The conversation.
    pub session: SessionId,
}

/// Takes an input on, as part of the transaction in which it comes in.
pub fn submit(
    tx: &mut Tx<'_>,
    new: &NewInput<'_>,
    now: Timestamp,
) -> Result<Submitted, GatewayError> {
    let session = lock(tx, &new.place, now)?;
    if session.archived_at.is_some() {
        return Err(GatewayError::Archived(session.id));
    }
    let mut input = new.input.clone();
    // Nobody means it, and not everybody takes it.
    input.text = strip_nul(&input.text).into_owned();
    let event = TapeEvent::InputMessage(input);
    // Nobody waits for a session that nobody has.
    let (waiting, last) = match session.holder {
        Some(_) => runs::waiting_in_session(tx, session.id)?,
        None => (0, None),
    };
    if let (true, Some(last)) = (waiting >= MOST_WAITING && new.parent.is_none(), last)
        && let Some(run) = runs::by_seq(tx, session.id, last)?
        && takes_more(tx, &run, &session, &event)?
    {
        append(tx, run.id, &[event], now)?;
        return Ok(Submitted { run: run.id, session: session.id });
    }
    let id: RunId = new_id();
    let free = session.holder.is_none();
    let worker = new.worker.filter(|_| free);
    let parent = new.parent.as_ref();
    let queued = Queued { agent: session.agent.to_string(), parent: new.parent.clone() };
    let events = [TapeEvent::RunQueued(queued), event];
    let run = runs::NewRun {
        id,
        session: session.id,
        session_seq: session.next_run,
        agent: &session.agent,
        due_at: (free && worker.is_none()).then_some(now),
        worker,
        events: 2,
        deadline: now + BEGIN_WITHIN,
        answers: new.answers,
        parent: parent.map(|parent| (parent.run, parent.call.as_str())),
        depth: parent.map_or(0, |parent| parent.depth),
    };
    runs::add(tx, &run, now)?;
    tape::add(tx, id, 1, &tape::lines(&events)?, now)?;
    sessions::count_run(tx, session.id, session.holder.unwrap_or(id), now)?;
    if free {
        tx.notify(TOPIC);
    }
    Ok(Submitted { run: id, session: session.id })
}

/// Whether a run that waits for its turn can be asked this, too: it was asked and nothing else happened.
/// One that was begun may be between a call and its result, where no provider takes anything else. One
/// from before a reset is shown to no model after it.
fn takes_more(
    tx: &mut Tx<'_>,
    run: &runs::Run,
    session: &Session,
    more: &TapeEvent,
) -> Result<bool, StorageError> {
    // The first event says that the run waits, and is followed by what it is asked.
    let asked = tape::after(tx, run.id, 1, MOST_JOINED + 1)?;
    let bytes = |event: &TapeEvent| match event {
        TapeEvent::InputMessage(input) => Some(input.text.len()),
        _ => None,
    };
    let all = asked.iter().map(|entry| &entry.event).chain([more]);
    let bytes: Option<usize> = all.map(bytes).sum();
    let has_room = asked.len() < MOST_JOINED as usize;
    Ok(run.agent == session.agent
        && run.session_seq >= session.shown.run
        && has_room
        && bytes.is_some_and(|bytes| bytes <= MOST_JOINED_BYTES))
}

fn lock(tx: &mut Tx<'_>, place: &Place<'_>, now: Timestamp) -> Result<Session, GatewayError> {
    match place {
        Place::Session(id) => sessions::lock(tx, *id)?.ok_or(GatewayError::NoSession(*id)),
        Place::Key { key, agent, surface, reply_to } => {
            if let Some(mut found) = sessions::lock_by_key(tx, key)? {
                // Who answers is decided anew for each input, and what was said before stays.
                if found.agent != **agent {
                    sessions::give_to(tx, found.id, agent)?;
                    found.agent = (*agent).clone();
                }
                return Ok(found);
            }
            let (id, reply_to) = (new_id(), *reply_to);
            let new = NewSession { id, key, agent, surface, title: "", reply_to };
            sessions::add(tx, &new, now)?;
            let found = sessions::lock_by_key(tx, key)?;
            found.ok_or_else(|| StorageError::internal("a session is gone again").into())
        }
    }
}

/// Lets the next run of a session begin. The session is locked, and has no run.
pub(crate) fn let_go(
    tx: &mut Tx<'_>,
    session: SessionId,
    now: Timestamp,
) -> Result<(), StorageError> {
    let next = runs::next_in_session(tx, session)?;
    sessions::hold(tx, session, next)?;
    if let Some(next) = next {
        runs::set(tx, next, RunLifecyclePhase::Queued, Some(now), None, now)?;
        tx.notify(TOPIC);
    }
    Ok(())
}

/// Queues a run again that had let the session go: in its old place, so before what came later. The
/// session is locked.
pub(crate) fn rejoin(
    tx: &mut Tx<'_>,
    session: &Session,
    run: RunId,
    now: Timestamp,
) -> Result<(), StorageError> {
    let free = session.holder.is_none();
    let due_at = free.then_some(now);
    runs::set(tx, run, RunLifecyclePhase::Queued, due_at, None, now)?;
    if free {
        sessions::hold(tx, session.id, Some(run))?;
        tx.notify(TOPIC);
    }
    Ok(())
}

/// Adds events to a run that no worker has, and tells those who watch it. The session is locked.
pub(crate) fn append(
    tx: &mut Tx<'_>,
    run: RunId,
    events: &[TapeEvent],
    now: Timestamp,
) -> Result<(), StorageError> {
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    match runs::append(tx, run, count, now)? {
        Some(first) => {
            tx.notify(streams::TOPIC);
            tape::add(tx, run, first, &tape::lines(events)?, now)
        }
        None => Ok(()),
    }
}
