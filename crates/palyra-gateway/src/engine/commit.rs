//! What a worker writes down about its run, in one transaction.

use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::{ApprovalState, RunEnd, RunLifecyclePhase, ToolOutcome};
use palyra_common::tape::{DeliveryEnqueued, Input, Parent, TapeEvent};
use palyra_common::time::{Duration, Timestamp};
use palyra_connector_core::{ChannelError, Envelope, enqueue};
use palyra_policy::budget::{Account, Amount};
use palyra_policy::run::{RunState, is_final};
use palyra_storage::approval::{self, ApprovalRecord, Decision};
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::{StorageError, Tx};

use super::children;
use super::queue::{NewInput, Place, let_go, submit};
use super::signal::Signal;
use crate::error::GatewayError;
use crate::store::budgets::{self, Reservation};
use crate::store::runs::{Advance, Run};
use crate::store::{run_signals, runs, sessions, tape, to_json};
use palyra_common::agent::Cap;
use palyra_common::ids::{AgentId, EnvelopeId};
use palyra_common::runtime_contracts::Trust;

/// A snapshot is kept after so many events.
const SNAPSHOT_EVERY: i64 = 64;

/// Where a run goes with a commit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Then {
    /// Its worker goes on with it.
    GoOn,
    /// It lets the session go and waits: for a human, or because it is paused.
    LetGo(RunLifecyclePhase),
    /// It keeps the session and goes on at some time; nothing: when something else has ended.
    Later(Option<Timestamp>),
    /// It has ended.
    End(RunLifecyclePhase, RunEnd),
}

/// What is written beside the tape.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beside {
    /// Set aside before a model is asked, of these budgets.
    pub(crate) reserve: Option<Reserve>,
    /// What an answer took, of what was set aside.
    pub(crate) spent: Option<Amount>,
    /// Questions to humans.
    pub(crate) ask: Vec<ApprovalRecord>,
    /// Messages of calls, by the call.
    pub(crate) send: Vec<(String, Envelope)>,
    /// What goes back to where the question came from.
    pub(crate) reply: Option<Envelope>,
    /// Runs that are to do a part of the work.
    pub(crate) delegate: Vec<(String, AgentId, String)>,
    /// Calls that nobody is to work on any more.
    pub(crate) stop: Vec<String>,
    /// Signals that have become events, or a phase.
    pub(crate) absorbed: Vec<String>,
    /// Large results that the run keeps.
    pub(crate) keep: Vec<BlobId>,
    /// From which event on pieces of an answer are superseded.
    pub(crate) drop_deltas: Option<i64>,
}

impl Beside {
    fn messages(&self) -> impl Iterator<Item = &Envelope> {
        self.send.iter().map(|(_, envelope)| envelope).chain(&self.reply)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Reserve {
    pub(crate) turn: u32,
    pub(crate) attempt: u32,
    pub(crate) amount: Amount,
    /// Scopes in order, with their caps.
    pub(crate) scopes: Vec<(String, Cap)>,
}

/// One commit of a worker.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) run: RunId,
    pub(crate) worker: i64,
    pub(crate) events: Vec<TapeEvent>,
    pub(crate) then: Then,
    pub(crate) beside: Beside,
    pub(crate) active: Duration,
    /// Whether the run got any further.
    pub(crate) progress: bool,
    /// The state after the events.
    pub(crate) state: RunState,
    pub(crate) snapshot_seq: i64,
}

/// What came of a commit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Committed {
    /// It is written.
    Done {
        /// The number of the first event.
        first: i64,
        /// Whether a snapshot was kept, after which event.
        snapshot_seq: i64,
    },
    /// Nothing is written: the run should not wait, there are signals.
    Signalled,
    /// Nothing is written: this budget is spent.
    Spent(String),
    /// Nothing is written: this message does not fit into its queue now.
    QueueFull(EnvelopeId),
    /// Nothing is written: somebody else has the run.
    Lost,
}

/// Why a transaction is undone.
pub(crate) enum Undo {
    Because(Committed),
    Failed(GatewayError),
}

impl From<StorageError> for Undo {
    fn from(error: StorageError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<GatewayError> for Undo {
    fn from(error: GatewayError) -> Self {
        Self::Failed(error)
    }
}

impl Commit {
    pub(crate) fn write(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<Committed, Undo> {
        let releases = !matches!(self.then, Then::GoOn);
        let run = runs::one(tx, self.run)?.ok_or(Undo::Because(Committed::Lost))?;
        if releases {
            // Before the run: that is the order in which everybody locks.
            sessions::lock(tx, run.session)?;
        }
        let mut events = self.events.clone();
        for envelope in self.beside.messages() {
            let (connector, envelope) = (envelope.connector.clone(), envelope.id.clone());
            let sent = TapeEvent::DeliveryEnqueued(DeliveryEnqueued { connector, envelope });
            // The end of a run is its last event but for what becomes of deliveries.
            let place = events.len() - usize::from(matches!(self.then, Then::End(..)));
            events.insert(place, sent);
        }
        let first = self.advance(tx, &run, events.len(), now)?;
        for id in &self.beside.absorbed {
            run_signals::remove(tx, id)?;
        }
        if matches!(self.then, Then::LetGo(_) | Then::Later(_)) && run_signals::any(tx, self.run)? {
            return Err(Undo::Because(Committed::Signalled));
        }
        tape::add(tx, self.run, first, &events, now)?;
        let last = first + i64::try_from(events.len()).unwrap_or(0) - 1;
        if let Some(from) = self.beside.drop_deltas {
            tape::drop_deltas(tx, self.run, from, first)?;
        }
        let snapshot_seq = self.snapshot(tx, last)?;
        self.budgets(tx, now)?;
        self.others(tx, &run, now)?;
        match self.then {
            Then::GoOn | Then::Later(_) => {}
            Then::LetGo(_) => let_go(tx, run.session, now)?,
            Then::End(..) => self.end(tx, &run, now)?,
        }
        Ok(Committed::Done { first, snapshot_seq })
    }

    fn advance(
        &self,
        tx: &mut Tx<'_>,
        run: &Run,
        events: usize,
        now: Timestamp,
    ) -> Result<i64, Undo> {
        let (phase, due_at, keeps) = match self.then {
            Then::GoOn => (self.state.phase, None, true),
            Then::LetGo(phase) => (phase, None, false),
            Then::Later(due_at) => (RunLifecyclePhase::Queued, due_at, false),
            Then::End(phase, _) => (phase, None, false),
        };
        let (history, ended) = match self.then {
            Then::End(_, end) => (Some(sessions::take_history(tx, run.session, now)?), Some(end)),
            Then::GoOn | Then::LetGo(_) | Then::Later(_) => (None, None),
        };
        let to = Advance {
            events: i64::try_from(events).unwrap_or(i64::MAX),
            phase,
            due_at,
            worker: keeps.then_some(self.worker),
            recoveries: if self.progress { 0 } else { run.recoveries },
            active: self.active,
            tokens: self.state.tokens,
            micros: self.state.micros,
            history,
            ended,
        };
        let first = runs::advance(tx, self.run, self.worker, &to, now)?;
        first.ok_or(Undo::Because(Committed::Lost))
    }

    fn snapshot(&self, tx: &mut Tx<'_>, last: i64) -> Result<i64, Undo> {
        if last - self.snapshot_seq < SNAPSHOT_EVERY || is_final(self.state.phase) {
            return Ok(self.snapshot_seq);
        }
        runs::save_snapshot(tx, self.run, &to_json(&self.state)?, last)?;
        Ok(last)
    }

    /// What was set aside before is settled first, then something else is set aside.
    fn budgets(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<(), Undo> {
        if let Some(spent) = self.beside.spent {
            settle(tx, self.run, spent, now)?;
        }
        let Some(reserve) = &self.beside.reserve else { return Ok(()) };
        for (scope, cap) in &reserve.scopes {
            let account = budgets::lock(tx, scope, now)?;
            let Some(reserved) = account.reserve(reserve.amount, cap) else {
                return Err(Undo::Because(Committed::Spent(scope.clone())));
            };
            budgets::save(tx, scope, &reserved)?;
        }
        let scopes = reserve.scopes.iter().map(|(scope, _)| scope.clone()).collect();
        let reservation = Reservation { amount: reserve.amount, scopes };
        budgets::reserve(tx, self.run, (reserve.turn, reserve.attempt), &reservation)?;
        Ok(())
    }

    fn others(&self, tx: &mut Tx<'_>, run: &Run, now: Timestamp) -> Result<(), Undo> {
        for blob in &self.beside.keep {
            let held = BlobStore::hold(tx, blob, &crate::tools::holder(self.run), now);
            held.map_err(|error| Undo::Failed(error.into()))?;
        }
        for record in &self.beside.ask {
            approval::request(tx, record)?;
        }
        for envelope in self.beside.messages() {
            match enqueue(tx, envelope, now) {
                Ok(_) => {}
                Err(ChannelError::LaneFull { .. }) => {
                    return Err(Undo::Because(Committed::QueueFull(envelope.id.clone())));
                }
                Err(error) => return Err(Undo::Failed(error.into())),
            }
        }
        for (call, agent, task) in &self.beside.delegate {
            let key = children::key(self.run, call);
            // Whoever took this run over delegates what was delegated before.
            if sessions::exists(tx, &key)? {
                continue;
            }
            let place = Place::Key { key: &key, agent, surface: "delegated", reply_to: None };
            let parent = Parent { run: self.run, call: call.clone(), depth: run.depth + 1 };
            let (text, sender) = (task.clone(), format!("agent:{}", run.agent));
            let input = Input { text, sender, trust: self.state.trust, connector: None };
            let new = NewInput { place, input, answers: None, parent: Some(parent), worker: None };
            submit(tx, &new, now)?;
        }
        children::tell_to_stop(tx, self.run, &self.beside.stop, now)?;
        Ok(())
    }

    /// Nothing of a run outlives it: neither questions nor reservations nor signals; and whoever
    /// waits for it is told.
    fn end(&self, tx: &mut Tx<'_>, run: &Run, now: Timestamp) -> Result<(), Undo> {
        run_signals::forget(tx, self.run)?;
        for open in approval::pending_of_run(tx, self.run)? {
            let state = ApprovalState::Cancelled;
            let reason = Some("the run has ended".to_owned());
            approval::decide(tx, open.id, &Decision { state, at: now, by: None, reason })?;
        }
        settle(tx, self.run, Amount::default(), now)?;
        let_go(tx, run.session, now)?;
        if let Some((parent, call)) = &run.parent {
            let completed = matches!(self.then, Then::End(RunLifecyclePhase::Completed, end)
                if end != RunEnd::NoAnswer);
            let outcome = if completed { ToolOutcome::Done } else { ToolOutcome::Failed };
            let answer = match self.state.said.as_str() {
                "" => format!("the delegated run {} gave no answer", self.run),
                said => said.to_owned(),
            };
            tell_parent(tx, (*parent, call), (outcome, answer), now)?;
        }
        Ok(())
    }
}

/// Tells the run that waits for this one how it ended.
pub(crate) fn tell_parent(
    tx: &mut Tx<'_>,
    (parent, call): (RunId, &str),
    (outcome, answer): (ToolOutcome, String),
    now: Timestamp,
) -> Result<(), StorageError> {
    // Locked before it is told: it sees the signal, or we see that it waits.
    let Some(waiting) = runs::lock(tx, parent)?.filter(|run| !is_final(run.phase)) else {
        return Ok(());
    };
    let (call, trust) = (call.to_owned(), Trust::Untrusted);
    let signal = Signal::ChildEnded { call, outcome, answer, trust };
    run_signals::add(tx, parent, &signal, now)?;
    // It keeps its session while it waits, so it only has to become due.
    if waiting.phase == RunLifecyclePhase::Queued && waiting.worker.is_none() {
        runs::set(tx, parent, RunLifecyclePhase::Queued, Some(now), None, now)?;
    }
    tx.notify(super::TOPIC);
    Ok(())
}

/// Turns what is set aside for a run into what was spent. What nobody says was spent was not.
pub(crate) fn settle(
    tx: &mut Tx<'_>,
    run: RunId,
    spent: Amount,
    now: Timestamp,
) -> Result<(), StorageError> {
    for reservation in budgets::take(tx, run)? {
        for scope in &reservation.scopes {
            let account: Account = budgets::lock(tx, scope, now)?;
            budgets::save(tx, scope, &account.settle(reservation.amount, spent))?;
        }
    }
    Ok(())
}
