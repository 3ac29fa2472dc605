//! Conversations and the runs in them, for those who begin, watch and stop them.

use std::sync::Arc;

use palyra_common::ids::{AgentId, RunId, SessionId};
use palyra_common::runtime_contracts::{
    AuxiliaryTaskState, RunEnd, RunLifecyclePhase, ToolOutcome,
};
use palyra_common::tape::{Input, ModelAbandoned, Phase, RunFinished, TapeEntry, TapeEvent};
use palyra_common::time::{Clock, Timestamp};
use palyra_connector_core::Trail;
use palyra_policy::budget::Amount;
use palyra_policy::run::{Event, is_final, phase};
use palyra_storage::once::{Claim, Once};
use palyra_storage::{Database, StorageError, Tx, new_id};

use crate::approvals::withdraw;
use crate::engine::{
    BEGIN_WITHIN, Hands, Lost, NewInput, Place, Signal, Submitted, TOPIC, append, given_away,
    left_over, let_go, rejoin, settle, state_of, submit, tell_parent, tell_to_stop,
};
use crate::error::GatewayError;
use crate::feed;
use crate::store::runs::Run;
use crate::store::sessions::{NewSession, Session};
use crate::store::{agents, auxiliary_tasks, budgets, run_signals, runs, sessions, tape};

/// The longest input, in bytes.
pub const MAX_INPUT_BYTES: usize = 256 * 1024;

/// Sessions and runs. Cheap to clone.
#[derive(Clone)]
pub struct Sessions {
    db: Database,
    clock: Arc<dyn Clock>,
    hands: Hands,
}

/// What somebody wants of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// End it.
    Abort,
    /// Let it wait.
    Pause,
    /// Let it go on.
    Resume,
}

impl Sessions {
    /// Those in `db`.
    pub fn new(db: Database, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock, hands: Hands::default() }
    }

    /// What is said is worked on at once where one of `hands` is free.
    pub fn with_hands(self, hands: Hands) -> Self {
        Self { hands, ..self }
    }

    pub(crate) fn db(&self) -> &Database {
        &self.db
    }

    /// Begins a conversation with an agent.
    pub async fn begin(
        &self,
        agent: AgentId,
        surface: &'static str,
        title: String,
    ) -> Result<Session, GatewayError> {
        let (now, id) = (self.clock.now(), new_id());
        self.db.try_write(move |tx| begin(tx, id, &agent, surface, &title, now)).await
    }

    /// Says something in a conversation. With `once`, saying it again changes nothing.
    pub async fn say(
        &self,
        session: SessionId,
        input: Input,
        once: Option<(palyra_common::Principal, Once)>,
    ) -> Result<Submitted, GatewayError> {
        if input.text.trim().is_empty() {
            return Err(GatewayError::Invalid("there is nothing in the message".to_owned()));
        }
        if input.text.len() > MAX_INPUT_BYTES {
            let what = format!("a message has at most {MAX_INPUT_BYTES} bytes");
            return Err(GatewayError::Invalid(what));
        }
        let (now, worker) = (self.clock.now(), self.hands.take());
        let say = move |tx: &mut Tx<'_>| -> Result<Submitted, GatewayError> {
            let new = NewInput {
                place: Place::Session(session),
                input: input.clone(),
                answers: None,
                parent: None,
                worker,
            };
            let submitted = submit(tx, &new, now)?;
            let Some((by, once)) = &once else { return Ok(submitted) };
            match once.claim(tx, by, &submitted.run.to_string(), now)? {
                Claim::First => Ok(submitted),
                Claim::Again { made } => Err(GatewayError::Before(made)),
                Claim::Taken => Err(GatewayError::KeyTaken),
            }
        };
        match self.db.try_write(say).await {
            // Undone, and told what was made the first time.
            Err(GatewayError::Before(made)) => {
                let run = made.parse().map_err(|_| GatewayError::KeyTaken)?;
                Ok(Submitted { run, session })
            }
            said => said,
        }
    }

    /// One conversation.
    pub async fn get(&self, id: SessionId) -> Result<Session, GatewayError> {
        let found = self.db.read(move |tx| sessions::one(tx, id)).await?;
        found.ok_or(GatewayError::NoSession(id))
    }

    /// Conversations, the newest first.
    pub async fn list(
        &self,
        after: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<Session>, StorageError> {
        self.db.read(move |tx| sessions::list(tx, after, limit)).await
    }

    /// Names a conversation.
    pub async fn rename(&self, id: SessionId, title: String) -> Result<Session, GatewayError> {
        let rename = move |tx: &mut Tx<'_>| -> Result<Session, GatewayError> {
            sessions::lock(tx, id)?.ok_or(GatewayError::NoSession(id))?;
            sessions::rename(tx, id, &title)?;
            sessions::one(tx, id)?.ok_or(GatewayError::NoSession(id))
        };
        self.db.try_write(rename).await
    }

    /// Puts a conversation away. What is under way in it goes on.
    pub async fn archive(&self, id: SessionId) -> Result<(), GatewayError> {
        let now = self.clock.now();
        let archive = move |tx: &mut Tx<'_>| -> Result<(), GatewayError> {
            sessions::lock(tx, id)?.ok_or(GatewayError::NoSession(id))?;
            Ok(sessions::archive(tx, id, now)?)
        };
        self.db.try_write(archive).await
    }

    /// One run.
    pub async fn run(&self, id: RunId) -> Result<Run, GatewayError> {
        let found = self.db.read(move |tx| runs::one(tx, id)).await?;
        found.ok_or(GatewayError::NoRun(id))
    }

    /// What a run ended with, if it has.
    pub async fn ending(&self, id: RunId) -> Result<Option<RunFinished>, StorageError> {
        let last = self.db.read(move |tx| tape::end(tx, id)).await?;
        Ok(last.and_then(|entry| match entry.event {
            TapeEvent::RunFinished(finished) => Some(finished),
            _ => None,
        }))
    }

    /// Whether there is such a run, and it has not ended.
    pub async fn is_open(&self, id: RunId) -> Result<bool, StorageError> {
        let found = self.db.read(move |tx| runs::one(tx, id)).await?;
        Ok(found.is_some_and(|run| !is_final(run.phase)))
    }

    /// The run that answers a message of a platform, in the session of this key.
    pub async fn answering(
        &self,
        session_key: String,
        message: String,
    ) -> Result<Option<RunId>, StorageError> {
        self.db.read(move |tx| runs::answering(tx, &session_key, &message)).await
    }

    /// Runs, the newest first.
    pub async fn runs(
        &self,
        after: Option<RunId>,
        session: Option<SessionId>,
        phase: Option<RunLifecyclePhase>,
        limit: u32,
    ) -> Result<Vec<Run>, StorageError> {
        self.db.read(move |tx| runs::list(tx, after, session, phase, limit)).await
    }

    /// The events of a run behind `after`.
    pub async fn tape(
        &self,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<TapeEntry>, StorageError> {
        self.db.read(move |tx| tape::after(tx, run, after, limit)).await
    }

    /// Stops a run, or lets it wait or go on. One that a worker has is told; it obeys at once.
    pub async fn wish(
        &self,
        id: RunId,
        wish: Wish,
        by: String,
        trail: Trail,
    ) -> Result<Run, GatewayError> {
        let now = self.clock.now();
        let obey = move |tx: &mut Tx<'_>| -> Result<Run, GatewayError> {
            let found = runs::one(tx, id)?.ok_or(GatewayError::NoRun(id))?;
            let session = sessions::lock(tx, found.session)?;
            let session = session.ok_or(GatewayError::NoSession(found.session))?;
            let run = runs::lock(tx, id)?.ok_or(GatewayError::NoRun(id))?;
            let (event, wanted) = match wish {
                Wish::Abort => (Event::Aborted, "stopped"),
                Wish::Pause => (Event::Paused, "paused"),
                Wish::Resume => (Event::Resumed, "resumed"),
            };
            let now_in = run.phase;
            let Some(to) = phase(now_in, event) else {
                return Err(GatewayError::NotNow { run: id, phase: now_in, wanted });
            };
            trail.clone().into_iter().for_each(|entry| tx.record(entry));
            if run.worker.is_some() {
                let signal = match wish {
                    Wish::Abort => Signal::Abort { by: by.clone() },
                    Wish::Pause => Signal::Pause { by: by.clone() },
                    Wish::Resume => return Ok(run),
                };
                run_signals::add(tx, id, &signal, now)?;
                tx.notify(TOPIC);
                return Ok(run);
            }
            match wish {
                Wish::Abort => end(tx, &session, &run, &by, now)?,
                Wish::Pause => pause(tx, &session, &run, to, &by, now)?,
                Wish::Resume => {
                    append(tx, id, &[moved(to, &by)], now)?;
                    // However long it was kept from beginning, that was not its own doing.
                    runs::allow_until(tx, id, now + BEGIN_WITHIN)?;
                    rejoin(tx, &session, id, now)?;
                }
            }
            runs::one(tx, id)?.ok_or(GatewayError::NoRun(id))
        };
        self.db.try_write(obey).await
    }
}

/// Begins a conversation with an agent, as part of a transaction.
pub fn begin(
    tx: &mut Tx<'_>,
    id: SessionId,
    agent: &AgentId,
    surface: &str,
    title: &str,
    now: Timestamp,
) -> Result<Session, GatewayError> {
    if agents::one(tx, agent)?.is_none() {
        return Err(GatewayError::NoAgent(agent.clone()));
    }
    let key = id.to_string();
    sessions::add(tx, &NewSession { id, key: &key, agent, surface, title, reply_to: None }, now)?;
    sessions::one(tx, id)?.ok_or(GatewayError::NoSession(id))
}

/// Ends a run that was told to stop, unless it has ended or a worker has it, who was told, too.
pub(crate) fn stop_at_rest(
    tx: &mut Tx<'_>,
    id: RunId,
    by: &str,
    now: Timestamp,
) -> Result<(), GatewayError> {
    let found = runs::one(tx, id)?.ok_or(GatewayError::NoRun(id))?;
    let session = sessions::lock(tx, found.session)?;
    let session = session.ok_or(GatewayError::NoSession(found.session))?;
    let run = runs::lock(tx, id)?.ok_or(GatewayError::NoRun(id))?;
    match run.worker {
        None if !is_final(run.phase) => end(tx, &session, &run, by, now),
        _ => Ok(()),
    }
}

/// Ends a run that no worker has.
fn end(
    tx: &mut Tx<'_>,
    session: &Session,
    run: &Run,
    by: &str,
    now: Timestamp,
) -> Result<(), GatewayError> {
    let (phase, end) = (RunLifecyclePhase::Aborted, RunEnd::Stopped);
    let detail = Some(format!("stopped by {by}"));
    let answer = "[Stopped]".to_owned();
    let finished = RunFinished { phase, end, answer, detail, hint: None, limits: None };
    // What its last worker had begun, and did not live to see the end of.
    let state = state_of(tx, run)?;
    tell_to_stop(tx, run.id, &given_away(&state), now)?;
    let mut events = left_over(&state);
    let mut charged = Amount::default();
    if let Some(attempt) = state.asked {
        charged = budgets::of_run(tx, run.id)?;
        events.push(TapeEvent::ModelAbandoned(ModelAbandoned {
            turn: state.turns + 1,
            attempt,
            reason: "the run was stopped".to_owned(),
            charged_tokens: charged.tokens,
            charged_micros: charged.micros,
            said: None,
            interrupted: true,
        }));
    }
    if let Some(open) = state.auxiliary {
        charged = budgets::of_run(tx, run.id)?;
        let lost = Lost { open, state: AuxiliaryTaskState::Cancelled, charged };
        events.push(lost.event());
        auxiliary_tasks::change(tx, open.task, None, &lost.change(now))?;
    }
    events.push(TapeEvent::RunFinished(finished));
    append(tx, run.id, &events, now)?;
    runs::charge(tx, run.id, charged, Amount::default())?;
    let history = sessions::take_history(tx, session.id, now)?;
    runs::set(tx, run.id, phase, None, Some((history, end)), now)?;
    feed::ended(tx, run, (phase, end), now);
    run_signals::forget(tx, run.id)?;
    withdraw(tx, run.id, "the run was stopped", now)?;
    if session.holder == Some(run.id) {
        let_go(tx, session.id, now)?;
    }
    if let Some((parent, call)) = &run.parent {
        let told = (ToolOutcome::Failed, format!("the delegated run {} was stopped", run.id));
        tell_parent(tx, (*parent, call), told, now)?;
    }
    Ok(settle(tx, run, charged, now)?)
}

fn pause(
    tx: &mut Tx<'_>,
    session: &Session,
    run: &Run,
    to: RunLifecyclePhase,
    by: &str,
    now: Timestamp,
) -> Result<(), GatewayError> {
    append(tx, run.id, &[moved(to, by)], now)?;
    runs::set(tx, run.id, to, None, None, now)?;
    if session.holder == Some(run.id) {
        let_go(tx, session.id, now)?;
    }
    Ok(())
}

fn moved(phase: RunLifecyclePhase, by: &str) -> TapeEvent {
    TapeEvent::RunPhase(Phase { phase, reason: Some(format!("by {by}")) })
}
