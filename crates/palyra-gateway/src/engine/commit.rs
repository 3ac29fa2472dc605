//! What a worker writes down about its run, in one transaction.

use palyra_common::a2ui::Message;
use palyra_common::ids::{AgentId, EnvelopeId, RunId};
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase, ToolOutcome, Trust};
use palyra_common::tape::{Input, Parent};
use palyra_common::time::{Duration, Timestamp};
use palyra_connector_core::{ChannelError, Envelope, enqueue};
use palyra_policy::budget::Amount;
use palyra_policy::run::{RunState, is_final};
use palyra_storage::approval::{self, ApprovalRecord};
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::{StorageError, Tx};

use super::charge::{self, Reserve, Taken};
use super::children;
use super::queue::{NewInput, Place, let_go, submit};
use super::signal::Signal;
use crate::approvals::withdraw;
use crate::error::GatewayError;
use crate::feed;
use crate::store::runs::{Advance, Run};
use crate::store::sessions::{Ended, Session};
use crate::store::tape::Line;
use crate::store::{run_signals, runs, sessions, tape, to_json};
use crate::streams;
use crate::surfaces;

/// A snapshot is kept after so many events.
pub(super) const SNAPSHOT_EVERY: i64 = 64;

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
    /// Set aside before a model is asked.
    pub(crate) reserve: Option<Reserve>,
    /// What an answer took, of what was set aside.
    pub(crate) spent: Option<Amount>,
    /// Questions to humans.
    pub(crate) ask: Vec<ApprovalRecord>,
    /// Messages of calls, by the call.
    pub(crate) send: Vec<(String, Envelope)>,
    /// What is shown in the session, by the call.
    pub(crate) show: Vec<(String, Vec<Message>)>,
    /// What goes back to where the question came from.
    pub(crate) reply: Option<Envelope>,
    /// What the run says at its end, for the one that waits for it.
    pub(crate) answer: String,
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
    /// Whether nobody can read what the run has done: whatever may be of it is looked for.
    pub(crate) unread: bool,
}

impl Beside {
    pub(super) fn messages(&self) -> impl Iterator<Item = &Envelope> {
        self.send.iter().map(|(_, envelope)| envelope).chain(&self.reply)
    }
}

/// One commit of a worker.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    /// The run as its worker knows it: nobody else changes what is used of it.
    pub(crate) run: Run,
    pub(crate) worker: i64,
    /// What is added to the tape.
    pub(crate) lines: Vec<Line>,
    pub(crate) then: Then,
    pub(crate) beside: Beside,
    pub(crate) active: Duration,
    /// What it used since the last one.
    pub(crate) charged: Amount,
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
        /// What the run has used, with all that work for it.
        used: Amount,
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
        let (run, session) = (self.run.id, self.run.session);
        // Before the run: that is the order in which everybody locks.
        let (ended, held) = match self.then {
            Then::GoOn => (None, None),
            Then::LetGo(_) | Then::Later(_) => (None, sessions::lock(tx, session)?),
            Then::End(..) => (Some(sessions::end_run(tx, session, run, now)?), None),
        };
        let (first, used) = self.advance(tx, ended.as_ref(), now)?;
        let taken = self.taken(tx)?;
        taken.charge_runs(tx, (&self.run, used), self.beside.reserve.as_ref())?;
        for id in &self.beside.absorbed {
            run_signals::remove(tx, id)?;
        }
        if matches!(self.then, Then::LetGo(_) | Then::Later(_)) && run_signals::any(tx, run)? {
            return Err(Undo::Because(Committed::Signalled));
        }
        tape::add(tx, run, first, &self.lines, now)?;
        // Those who watch here are handed it.
        tx.notify_others(streams::TOPIC);
        if let Some(from) = self.beside.drop_deltas {
            tape::drop_deltas(tx, run, from, first)?;
        }
        let snapshot_seq = self.snapshot(tx, first + self.count() - 1)?;
        self.others(tx, now)?;
        match ended {
            Some(ended) => self.end(tx, &ended, now)?,
            None if matches!(self.then, Then::LetGo(_))
                && held.is_some_and(|session| session.holder == Some(run)) =>
            {
                let_go(tx, session, now)?;
            }
            None => {}
        }
        // Last: others wait for these rows until the commit.
        taken.settle(tx, now)?;
        if let Some(reserve) = &self.beside.reserve {
            charge::reserve(tx, run, reserve, now)?;
        }
        Ok(Committed::Done { first, snapshot_seq, used })
    }

    /// How many events are added.
    fn count(&self) -> i64 {
        i64::try_from(self.lines.len()).unwrap_or(i64::MAX)
    }

    fn advance(
        &self,
        tx: &mut Tx<'_>,
        ended: Option<&Ended>,
        now: Timestamp,
    ) -> Result<(i64, Amount), Undo> {
        let (phase, due_at, keeps) = match self.then {
            Then::GoOn => (self.state.phase, None, true),
            Then::LetGo(phase) => (phase, None, false),
            Then::Later(due_at) => (RunLifecyclePhase::Queued, due_at, false),
            Then::End(phase, _) => (phase, None, false),
        };
        let end = match self.then {
            Then::End(_, end) => Some(end),
            Then::GoOn | Then::LetGo(_) | Then::Later(_) => None,
        };
        let to = Advance {
            events: self.count(),
            phase,
            due_at,
            worker: keeps.then_some(self.worker),
            recoveries: if self.progress { 0 } else { self.run.recoveries },
            active: self.active,
            charged: self.charged,
            history: ended.map(|ended| ended.history),
            ended: end,
        };
        let advanced = runs::advance(tx, self.run.id, self.worker, &to, now)?;
        advanced.ok_or(Undo::Because(Committed::Lost))
    }

    fn snapshot(&self, tx: &mut Tx<'_>, last: i64) -> Result<i64, Undo> {
        if last - self.snapshot_seq < SNAPSHOT_EVERY || is_final(self.state.phase) {
            return Ok(self.snapshot_seq);
        }
        runs::save_snapshot(tx, self.run.id, &to_json(&self.state)?, last)?;
        Ok(last)
    }

    /// What was set aside before, if it is known by now what it came to.
    fn taken(&self, tx: &mut Tx<'_>) -> Result<Taken, StorageError> {
        match (self.beside.spent, &self.then) {
            (Some(spent), _) => Taken::of(tx, self.run.id, spent),
            (None, Then::End(..)) => Taken::of(tx, self.run.id, Amount::default()),
            (None, Then::GoOn | Then::LetGo(_) | Then::Later(_)) => Ok(Taken::default()),
        }
    }

    fn others(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<(), Undo> {
        let run = &self.run;
        for blob in &self.beside.keep {
            let held = BlobStore::hold(tx, blob, &crate::tools::holder(run.id), now);
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
        for (_, messages) in &self.beside.show {
            surfaces::show(tx, run.session, messages, now)?;
        }
        for (call, agent, task) in &self.beside.delegate {
            let key = children::key(run.id, call);
            // Whoever took this run over delegates what was delegated before.
            if sessions::exists(tx, &key)? {
                continue;
            }
            let place =
                Place::Key { key: &key, agent, surface: sessions::DELEGATED, reply_to: None };
            let parent = Parent { run: run.id, call: call.clone(), depth: run.depth + 1 };
            let (text, sender) = (task.clone(), format!("agent:{}", run.agent));
            let input = Input { text, sender, trust: self.state.trust, connector: None };
            let new = NewInput { place, input, answers: None, parent: Some(parent), worker: None };
            submit(tx, &new, now)?;
        }
        children::tell_to_stop(tx, run.id, &self.beside.stop, now)?;
        if self.beside.unread {
            children::tell_all_to_stop(tx, run.id, now)?;
            tape::silence(tx, run.id)?;
        }
        Ok(())
    }

    /// Nothing of a run outlives it: neither questions nor reservations nor signals; and whoever
    /// waits for it is told.
    fn end(&self, tx: &mut Tx<'_>, ended: &Ended, now: Timestamp) -> Result<(), Undo> {
        let run = &self.run;
        if let Then::End(phase, end) = self.then {
            feed::ended(tx, run, (phase, end), now);
        }
        run_signals::forget(tx, run.id)?;
        // Only about calls of the last answer can there be any: before another, all are settled.
        if self.beside.unread || !self.state.calls.is_empty() {
            withdraw(tx, run.id, "the run has ended", now)?;
        }
        if ended.is_free {
            let_go(tx, run.session, now)?;
        }
        if let Some((parent, call)) = &run.parent {
            // A part of an answer is none, and says why there is no more.
            let outcome = match self.then {
                Then::End(_, RunEnd::Answered) => ToolOutcome::Done,
                Then::End(..) | Then::GoOn | Then::LetGo(_) | Then::Later(_) => ToolOutcome::Failed,
            };
            let answer = match self.beside.answer.as_str() {
                "" => format!("the delegated run {} gave no answer", run.id),
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
    // One that has kept its session while it waits only has to become due. One that was paused has not:
    // it goes on when it is its turn. Nobody changes which of the two it is while the run is locked.
    let is_its_turn = |session: Session| session.holder == Some(parent);
    if waiting.phase == RunLifecyclePhase::Queued
        && waiting.worker.is_none()
        && sessions::one(tx, waiting.session)?.is_some_and(is_its_turn)
    {
        runs::set(tx, parent, RunLifecyclePhase::Queued, Some(now), None, now)?;
    }
    tx.notify(super::TOPIC);
    Ok(())
}
