//! Stopping runs, and letting them wait and go on.

use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase, ToolOutcome};
use palyra_common::tape::{ModelAbandoned, Phase, RunFinished, TapeEvent};
use palyra_common::time::Timestamp;
use palyra_connector_core::Trail;
use palyra_policy::budget::Amount;
use palyra_policy::run::{Event, is_final, phase};
use palyra_storage::Tx;
use palyra_storage::journal::JournalEvent;
use serde_json::Value;

use super::Wish;
use crate::actor::Actor;
use crate::approvals::withdraw;
use crate::engine::{
    BEGIN_WITHIN, Signal, TOPIC, append, given_away, left_over, let_go, rejoin, settle, state_of,
    tell_parent, tell_to_stop,
};
use crate::error::GatewayError;
use crate::feed;
use crate::store::runs::Run;
use crate::store::sessions::Session;
use crate::store::{budgets, run_signals, runs, sessions};

impl Wish {
    /// The entry about it for the audit trail.
    pub fn noted(self, run: RunId, actor: &Actor, now: Timestamp) -> JournalEvent {
        let action = match self {
            Self::Abort => "run.aborted",
            Self::Pause => "run.paused",
            Self::Resume => "run.resumed",
        };
        actor.noted(now, action, format!("run:{run}"), Value::Null)
    }
}

/// What somebody wants of a run.
#[derive(Debug, Clone)]
pub(crate) struct Wished {
    pub(crate) run: RunId,
    pub(crate) wish: Wish,
    pub(crate) by: String,
    pub(crate) trail: Trail,
}

impl Wished {
    /// Does it. A worker that has the run is told, and obeys at once. The version of a run is the number of
    /// the last event on its tape.
    pub(crate) fn obey(
        &self,
        tx: &mut Tx<'_>,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Result<Run, GatewayError> {
        let (id, wish, by) = (self.run, self.wish, &self.by);
        let found = runs::one(tx, id)?.ok_or(GatewayError::NoRun(id))?;
        let session = sessions::lock(tx, found.session)?;
        let session = session.ok_or(GatewayError::NoSession(found.session))?;
        let run = runs::lock(tx, id)?.ok_or(GatewayError::NoRun(id))?;
        GatewayError::unless_changed("run", run.next_seq - 1, expected)?;
        let (event, wanted) = match wish {
            Wish::Abort => (Event::Aborted, "stopped"),
            Wish::Pause => (Event::Paused, "paused"),
            Wish::Resume => (Event::Resumed, "resumed"),
        };
        let now_in = run.phase;
        let Some(to) = phase(now_in, event) else {
            return Err(GatewayError::NotNow { run: id, phase: now_in, wanted });
        };
        self.trail.clone().into_iter().for_each(|entry| tx.record(entry));
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
            Wish::Abort => end(tx, &session, &run, by, now)?,
            Wish::Pause => pause(tx, &session, &run, to, by, now)?,
            Wish::Resume => {
                append(tx, id, &[moved(to, by)], now)?;
                // However long it was kept from beginning, that was not its own doing.
                runs::allow_until(tx, id, now + BEGIN_WITHIN)?;
                rejoin(tx, &session, id, now)?;
            }
        }
        runs::one(tx, id)?.ok_or(GatewayError::NoRun(id))
    }
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
