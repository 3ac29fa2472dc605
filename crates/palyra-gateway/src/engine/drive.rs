//! Drives one run: decides by its state, commits, acts.

use std::sync::Arc;

use palyra_common::agent::AgentSpec;
use palyra_common::runtime_contracts::{
    ApprovalState, AuxiliaryTaskState, RetryClass, RunEnd, RunLifecyclePhase, ToolOutcome, Trust,
};
use palyra_common::tape::{
    ApprovalRequested, DeliveryEnqueued, ModelAbandoned, Said, TapeEvent, ToolCompleted,
};
use palyra_common::time::{Duration, Timestamp};
use palyra_policy::budget::Amount;
use palyra_policy::run::{self as policy, CallStep, Event, Limits, Next, Recovery, RunState, Used};
use palyra_storage::{approval, crash_point, new_id};

use super::charge::Above;
use super::commit::{Beside, Commit, Committed, Then, Undo};
use super::context::Spoken;
use super::finish::{after_enough, handed_over};
use super::known::Known;
use super::model::ThoughtError;
use super::signal::{Call, Signal};
use super::{EngineOptions, gating};
use crate::error::GatewayError;
use crate::store::runs::Run;
use crate::store::sessions::Session;
use crate::store::{run_signals, tape};

/// Taken over so often without getting any further, a run has failed.
pub(super) const MOST_RECOVERIES: u32 = 3;
/// How long a question waits for an answer.
const ASK_FOR: Duration = Duration::from_days(1);
/// Whoever asks to be left alone for longer has not answered: what is said meanwhile waits behind it.
const MOST_WAIT: Duration = Duration::from_mins(10);
/// What a human is told about a call that has changed under their yes.
const CHANGED: &str = "somebody said yes to this, and what it is about has changed since";
/// What a human is told about a call without an end.
const BEGUN: &str = "this was begun and interrupted: nobody knows whether it was done";

/// Why an attempt at a model is given up.
pub(super) enum GivenUp {
    /// It came to nothing.
    Failed(String),
    /// No model has failed: somebody wanted something else, or is gone.
    Interrupted(&'static str),
    /// There was no time for more than what it had said.
    OutOfTime(Option<Said>),
}

/// A run that a worker has.
pub(super) struct Held {
    pub(super) options: Arc<EngineOptions>,
    pub(super) worker: i64,
    pub(super) run: Run,
    pub(super) session: Session,
    pub(super) agent: AgentSpec,
    pub(super) limits: Limits,
    /// The runs that it works for, the nearest first.
    pub(super) above: Vec<Above>,
    pub(super) state: RunState,
    /// What it has used itself by what is committed.
    written: Amount,
    pub(super) snapshot_seq: i64,
    /// Events that are decided and not committed.
    pub(super) pending: Vec<TapeEvent>,
    pub(super) beside: Beside,
    pub(super) progress: bool,
    /// Called when there are signals.
    pub(super) signalled: Arc<Call>,
    /// Those that there were when the run was read.
    found: Option<Vec<(String, Signal)>>,
    /// What was said until then, if the run was at its beginning.
    pub(super) spoken: Option<Spoken>,
    /// Whether the run is no longer this worker's.
    let_go: bool,
    /// Since when this worker works on it.
    pub(super) since: Timestamp,
    /// What operators said in the context that the model saw last.
    pub(super) told: Vec<String>,
    /// Calls that a human had allowed before they changed.
    pub(super) changed: Vec<String>,
    /// Whether its agent is there.
    pub(super) known: bool,
    /// What it was asked first, if that was read.
    pub(super) asked: Option<String>,
}

/// Whether to go on with a run.
pub(super) enum Flow {
    GoOn,
    Stop,
}

impl Held {
    /// Reads what is known of a run.
    pub(super) async fn load(
        options: Arc<EngineOptions>,
        worker: i64,
        run: Run,
        signalled: Arc<Call>,
    ) -> Result<Self, GatewayError> {
        let (session, of) = (run.session, run.clone());
        let known = options.db.read(move |tx| Known::read(tx, &of)).await?;
        let Known { state, snapshot_seq, signals, session: place, agent, above, spoken } = known;
        let asked = spoken.as_ref().and_then(Spoken::asked);
        let session = place.ok_or(GatewayError::NoSession(session))?;
        let known = agent.is_some();
        let agent = agent.map(|agent| agent.spec).unwrap_or_default();
        // Whoever has moved it since need not have told its tape: that a human decided, for one.
        let state = RunState { phase: run.phase, ..state };
        let limits = Limits {
            turns: agent.limits.turns,
            tool_calls: agent.limits.tool_calls,
            active: agent.limits.active,
            tokens: agent.limits.cap.tokens,
            micros: agent.limits.cap.micros,
            ..Limits::default()
        };
        Ok(Self {
            since: options.clock.now(),
            options,
            worker,
            run,
            session,
            agent,
            limits,
            above,
            written: state.spent(),
            state,
            snapshot_seq,
            pending: Vec::new(),
            beside: Beside::default(),
            progress: false,
            signalled,
            found: Some(signals),
            spoken,
            let_go: false,
            told: Vec::new(),
            changed: Vec::new(),
            known,
            asked,
        })
    }

    /// Works on the run until it has ended or waits. Says whether it is no longer this worker's.
    pub(super) async fn drive(mut self) -> Result<bool, GatewayError> {
        self.go_on().await?;
        Ok(self.let_go)
    }

    async fn go_on(&mut self) -> Result<(), GatewayError> {
        let now = self.options.clock.now();
        let is_new = self.state.turns == 0 && self.state.attempts == 0;
        if self.state.phase != RunLifecyclePhase::Running {
            if is_new && now >= self.run.deadline {
                return self.finish(RunEnd::DeadlinePassed, None).await;
            }
            self.moves(Event::Taken, None)?;
        }
        if self.run.recoveries >= MOST_RECOVERIES {
            let detail = "it was taken over several times and never got any further";
            return self.finish(RunEnd::CrashLoop, Some(detail.to_owned())).await;
        }
        if !self.known {
            let detail = format!("there is no agent {}", self.run.agent);
            return self.finish(RunEnd::Misconfigured, Some(detail)).await;
        }
        // First what others tell: a run that this one waited for may have ended.
        if let Flow::Stop = self.absorb().await? {
            return Ok(());
        }
        self.recover().await?;
        loop {
            if let Flow::Stop = self.absorb().await? {
                return Ok(());
            }
            let flow = match policy::next(&self.state, &self.limits, self.used()) {
                Next::Ask { turn, attempt } => self.ask(turn, attempt).await?,
                Next::Gate(calls) => self.gate(&calls).await?,
                Next::AskHuman(call) => self.ask_human(call).await?,
                Next::Start(calls) => self.start(&calls).await?,
                Next::Tell(call, outcome) => {
                    self.tell(call, outcome).await?;
                    Flow::GoOn
                }
                Next::Wait(_) => self.wait(Event::NeedsHuman, None, None).await?,
                Next::Finish(end) => {
                    let detail = handed_over(end, &self.state);
                    return self.finish(end, detail).await;
                }
                Next::Nothing => {
                    let reason = "a run that works for it is under way".to_owned();
                    self.wait(Event::Later, Some(reason), None).await?
                }
            };
            if let Flow::Stop = flow {
                return Ok(());
            }
        }
    }

    pub(super) fn push(&mut self, event: TapeEvent) {
        self.state.apply(&event);
        self.pending.push(event);
    }

    /// A text without secrets, and without what a database does not take.
    pub(super) fn clean(&self, text: &str) -> String {
        self.options.outgoing.clean(&palyra_common::text::strip_nul(text))
    }

    pub(super) fn used(&self) -> Used {
        let all = Amount { tokens: self.run.tokens, micros: self.run.micros };
        Used { active: self.active(), below: all.minus(self.written) }
    }

    fn active(&self) -> Duration {
        let now = self.options.clock.now().since(self.since);
        Duration::from_millis(self.run.active.as_millis().saturating_add(now.as_millis()))
    }

    /// Writes down what is decided.
    pub(super) async fn flush(&mut self, then: Then) -> Result<Committed, GatewayError> {
        loop {
            match self.commit(then.clone()).await? {
                Committed::QueueFull(envelope) if self.unsend(&envelope) => {}
                committed => return Ok(committed),
            }
        }
    }

    async fn commit(&mut self, then: Then) -> Result<Committed, GatewayError> {
        let events = self.to_be_written(&then);
        let commit = Commit {
            run: self.run.clone(),
            worker: self.worker,
            lines: tape::lines(&events)?,
            then: then.clone(),
            beside: self.beside.clone(),
            active: self.active(),
            charged: self.state.spent().minus(self.written),
            progress: self.progress,
            state: self.state.clone(),
            snapshot_seq: self.snapshot_seq,
        };
        let now = self.options.clock.now();
        crash_point!("run.before_commit");
        let written = self.options.db.try_write(move |tx| commit.write(tx, now)).await;
        crash_point!("run.after_commit");
        let committed = match written {
            Ok(committed) => committed,
            Err(Undo::Because(why)) => {
                self.let_go |= why == Committed::Lost;
                return Ok(why);
            }
            Err(Undo::Failed(error)) => return Err(error),
        };
        if let Committed::Done { first, snapshot_seq, used } = committed {
            (self.run.tokens, self.run.micros) = (used.tokens, used.micros);
            self.written = self.state.spent();
            self.snapshot_seq = snapshot_seq;
            self.pending.clear();
            self.beside = Beside::default();
            if std::mem::take(&mut self.progress) {
                self.run.recoveries = 0;
            }
            self.let_go |= then != Then::GoOn;
            self.options.streams.tell(self.run.id, first, events, now);
        }
        Ok(committed)
    }

    /// The events of a commit: what is decided, and that messages go out.
    fn to_be_written(&self, then: &Then) -> Vec<TapeEvent> {
        let mut events = self.pending.clone();
        for envelope in self.beside.messages() {
            let (connector, envelope) = (envelope.connector.clone(), envelope.id.clone());
            let sent = TapeEvent::DeliveryEnqueued(DeliveryEnqueued { connector, envelope });
            // The end of a run is its last event but for what becomes of deliveries.
            let place = events.len() - usize::from(matches!(then, Then::End(..)));
            events.insert(place, sent);
        }
        events
    }

    /// What another worker had begun and not ended, or this one and not written down.
    async fn recover(&mut self) -> Result<(), GatewayError> {
        for found in policy::recovery(&self.state) {
            match found {
                Recovery::Abandon { turn, attempt } => {
                    // Nobody knows what it took: at most what was set aside for it.
                    let charged = self.reserved().await?;
                    // Whoever had asked is gone, or could not write: this worker, too.
                    let lost = GivenUp::Interrupted("what came of it was not written down");
                    self.abandon(turn, attempt, charged, lost);
                    // Pieces of finished answers are gone already: what is left is of this one.
                    self.beside.drop_deltas = Some(1);
                }
                Recovery::GiveUpTask(open) => {
                    self.lose_task(open, AuxiliaryTaskState::Failed).await?;
                }
                Recovery::Again(call) => {
                    let gated = palyra_common::tape::ToolGated {
                        call: self.state.calls[call].call.id.clone(),
                        decision: palyra_common::runtime_contracts::GateDecision::Allow,
                        reason: palyra_common::runtime_contracts::GateReason::OutcomeUnknown,
                    };
                    self.push(TapeEvent::ToolGated(gated));
                }
                Recovery::AskHuman(call) => {
                    self.ask_human(call).await?;
                }
            }
        }
        Ok(())
    }

    pub(super) async fn reserved(&self) -> Result<Amount, GatewayError> {
        let run = self.run.id;
        Ok(self.options.db.read(move |tx| crate::store::budgets::of_run(tx, run)).await?)
    }

    /// Gives an attempt up, which is charged with what it may have taken.
    pub(super) fn abandon(&mut self, turn: u32, attempt: u32, charged: Amount, why: GivenUp) {
        let (reason, said, interrupted) = match why {
            GivenUp::Failed(what) => (what, None, false),
            GivenUp::Interrupted(what) => (what.to_owned(), None, true),
            GivenUp::OutOfTime(said) => ("the time was up".to_owned(), said, false),
        };
        self.beside.spent = Some(charged);
        self.push(TapeEvent::ModelAbandoned(ModelAbandoned {
            turn,
            attempt,
            reason,
            charged_tokens: charged.tokens,
            charged_micros: charged.micros,
            said,
            interrupted,
        }));
    }

    /// Moves what others have told onto the tape.
    async fn absorb(&mut self) -> Result<Flow, GatewayError> {
        let (run, found) = (self.run.id, self.found.take());
        let signals = match (self.signalled.take(), found) {
            (true, _) => self.options.db.read(move |tx| run_signals::of_run(tx, run)).await?,
            (false, Some(found)) => found,
            (false, None) => return Ok(Flow::GoOn),
        };
        let mut pause = None;
        for (id, signal) in signals {
            if self.beside.absorbed.contains(&id) {
                continue;
            }
            match &signal {
                Signal::Abort { by } => {
                    let detail = Some(format!("stopped by {by}"));
                    self.finish(RunEnd::Stopped, detail).await?;
                    return Ok(Flow::Stop);
                }
                Signal::Pause { by } => pause = Some((id, format!("by {by}"))),
                Signal::Decided { .. } | Signal::ChildEnded { .. } => {
                    self.beside.absorbed.push(id);
                    if let Some(event) = signal.event() {
                        let event = self.shortened(event).await?;
                        self.push(event);
                    }
                }
            }
        }
        // The last: it does not wait while there is something that it was not told.
        let Some((id, reason)) = pause else { return Ok(Flow::GoOn) };
        self.beside.absorbed.push(id.clone());
        let flow = self.wait(Event::Paused, Some(reason), None).await?;
        if let Flow::GoOn = flow {
            self.beside.absorbed.retain(|absorbed| *absorbed != id);
        }
        Ok(flow)
    }

    /// Asks a human about a call, with exactly what would be executed.
    pub(super) async fn ask_human(&mut self, index: usize) -> Result<Flow, GatewayError> {
        let call = self.state.calls[index].call.clone();
        let again = self.state.calls[index].step.started() > 0;
        let Some((proposed, not_now)) = self.decidable(index).await? else {
            return Ok(Flow::GoOn);
        };
        let now = self.options.clock.now();
        let subject = match again {
            true => palyra_common::runtime_contracts::ApprovalSubject::UnknownOutcome,
            false => gating::subject(&proposed.tool, proposed.reach),
        };
        let summary = match (again, not_now) {
            (true, None) => format!("{} — {BEGUN}. Do it again?", proposed.summary),
            (true, Some(what)) => format!(
                "{} — {BEGUN}. It could not be done now: {what}. Try it again all the same?",
                proposed.summary
            ),
            (false, _) if self.changed.contains(&call.id) => {
                format!("{} — {CHANGED}", proposed.summary)
            }
            (false, _) => proposed.summary.clone(),
        };
        let (approval, expires_at) = (new_id(), now + ASK_FOR);
        self.beside.ask.push(approval::ApprovalRecord {
            id: approval,
            subject,
            payload: proposed.arguments.clone(),
            payload_sha256: proposed.payload_sha256.clone(),
            summary: summary.clone(),
            risk: proposed.risk,
            asker: Some(approval::Asker {
                run: self.run.id,
                call: call.id.clone(),
                session: self.run.session,
                agent: self.run.agent.to_string(),
            }),
            requested_at: now,
            expires_at,
            decision: None,
        });
        if self.state.calls[index].payload_sha256.as_deref() != Some(&proposed.payload_sha256) {
            self.push(TapeEvent::ToolProposed(proposed));
        }
        let call = call.id;
        let asked = ApprovalRequested { approval, call, subject, summary, expires_at };
        self.push(TapeEvent::ApprovalRequested(asked));
        Ok(Flow::GoOn)
    }

    /// Tells the model that a call was not made.
    async fn tell(&mut self, index: usize, outcome: ToolOutcome) -> Result<(), GatewayError> {
        let call = &self.state.calls[index];
        let id = call.call.id.clone();
        let what = match outcome {
            ToolOutcome::Refused => "this call was refused".to_owned(),
            ToolOutcome::Denied => match self.why_decided(index).await? {
                Some(why) => format!("a human said no to this call ({why}); do not try it again"),
                None => "a human said no to this call; do not try it again".to_owned(),
            },
            ToolOutcome::Expired => "no human decided about this call in time".to_owned(),
            ToolOutcome::Unknown => {
                "this call was interrupted; nobody knows whether it was done".to_owned()
            }
            ToolOutcome::Done | ToolOutcome::Failed => "this call came to nothing".to_owned(),
        };
        self.complete(&id, outcome, what, Trust::Operator);
        Ok(())
    }

    /// What a human said about their decision on a call.
    async fn why_decided(&self, index: usize) -> Result<Option<String>, GatewayError> {
        let CallStep::Decided { approval: id, .. } = self.state.calls[index].step else {
            return Ok(None);
        };
        let record = self.options.db.read(move |tx| approval::one(tx, id)).await?;
        Ok(record.and_then(|record| record.decision?.reason))
    }

    pub(super) fn complete(
        &mut self,
        call: &str,
        outcome: ToolOutcome,
        content: String,
        trust: Trust,
    ) {
        let content = self.clean(&content);
        let call = call.to_owned();
        let done = ToolCompleted { call, outcome, content, artifact: None, trust };
        self.push(TapeEvent::ToolCompleted(done));
    }

    /// Gives up for now: another attempt follows, unless there were enough.
    pub(super) async fn later(&mut self, error: ThoughtError) -> Result<Flow, GatewayError> {
        let ThoughtError { what, hint, class, after, .. } = error;
        let is_too_long = after.is_some_and(|after| after > MOST_WAIT);
        if class == RetryClass::Permanent
            || is_too_long
            || self.state.failures() >= self.limits.attempts
        {
            let hint = Some(after_enough(class, hint, &self.run.agent));
            self.end(RunEnd::ModelFailed, Some(what), hint).await?;
            return Ok(Flow::Stop);
        }
        let (base, cap) = (Duration::from_millis(500), Duration::from_mins(1));
        let backoff = palyra_common::queue::Backoff { base, cap };
        let chance = self.options.dice.roll();
        let wait = palyra_policy::backoff::wait(backoff, self.state.failures(), chance);
        let wait = after.map_or(wait, |after| after.max(wait));
        let due = self.options.clock.now() + wait;
        self.wait(Event::Later, Some(what), Some(due)).await
    }
}

/// Whether a question may be acted on.
pub(super) fn is_yes(state: ApprovalState) -> bool {
    state == ApprovalState::Approved
}
