//! The state of a run: a fold over its tape.

use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::{
    ApprovalState, GateDecision, ModelFinish, RunEnd, RunLifecyclePhase, ToolEffect, Trust,
};
use palyra_common::tape::{Call, ModelCompleted, TapeEvent};
use serde::{Deserialize, Serialize};

use crate::budget::Amount;

/// Everything that decides what comes next. Kept as a snapshot now and then, so that resuming a run
/// does not read its whole tape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Where the run is.
    pub phase: RunLifecyclePhase,
    /// How many turns of the model it had.
    pub turns: u32,
    /// The attempt that was begun and has not ended.
    pub asked: Option<u32>,
    /// How many attempts there were at the turn that is next.
    pub attempts: u32,
    /// How many of them were broken off, so that no model has failed.
    #[serde(default)]
    pub interrupted: u32,
    /// How many of them failed and had to be paid.
    #[serde(default)]
    pub paid_failures: u32,
    /// The calls of the last turn.
    pub calls: Vec<CallState>,
    /// How many calls there were in all.
    pub tool_calls: u32,
    /// How many tokens it used.
    pub tokens: u64,
    /// What it cost, in millionths of a dollar.
    pub micros: u64,
    /// What the model said last; nothing if it ended without a word.
    pub said: String,
    /// Why the model stopped last.
    pub finish: Option<ModelFinish>,
    /// The least trusted text that the model has seen.
    pub trust: Trust,
    /// Why it ended.
    pub end: Option<RunEnd>,
}

/// A call of the last turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallState {
    /// As the model spelled it.
    pub call: Call,
    /// The digest of what is executed, once it is proposed.
    pub payload_sha256: Option<String>,
    /// What it does to the world, once that is known.
    pub effect: Option<ToolEffect>,
    /// Whether it is done in the transaction that writes its result down.
    #[serde(default)]
    pub with_result: bool,
    /// How far it is.
    pub step: CallStep,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum CallStep {
    /// The model asked for it.
    Asked,
    /// The gate lets it through.
    Allowed,
    /// The gate wants a human to be asked, or refuses it.
    Stopped {
        /// Which of the two.
        decision: GateDecision,
    },
    /// A human was asked.
    Waiting {
        /// The question.
        approval: ApprovalId,
        /// How often it was begun before.
        started: u32,
    },
    /// A human answered.
    Decided {
        /// The question.
        approval: ApprovalId,
        /// The answer.
        state: ApprovalState,
        /// How often it was begun before.
        started: u32,
    },
    /// It was begun, for the `attempt`th time.
    Started {
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// It has ended.
    Ended,
}

impl RunState {
    /// A run that has no tape yet.
    pub fn new() -> Self {
        Self {
            phase: RunLifecyclePhase::Queued,
            turns: 0,
            asked: None,
            attempts: 0,
            interrupted: 0,
            paid_failures: 0,
            calls: Vec::new(),
            tool_calls: 0,
            tokens: 0,
            micros: 0,
            said: String::new(),
            finish: None,
            trust: Trust::Operator,
            end: None,
        }
    }

    /// What an event makes of it. Pieces of answers, what is shown, and what became of deliveries change nothing.
    pub fn apply(&mut self, event: &TapeEvent) {
        match event {
            TapeEvent::RunPhase(moved) => self.phase = moved.phase,
            TapeEvent::InputMessage(input) => self.trust = self.trust.max(input.trust),
            TapeEvent::ModelRequested(asked) => {
                self.asked = Some(asked.attempt);
                self.attempts = asked.attempt;
            }
            TapeEvent::ModelAbandoned(lost) => {
                self.asked = None;
                self.interrupted += u32::from(lost.interrupted);
                let is_paid = lost.charged_tokens > 0 || lost.charged_micros > 0;
                self.paid_failures += u32::from(is_paid && !lost.interrupted);
                self.charge(lost.charged_tokens, lost.charged_micros);
                if let Some(said) = &lost.said {
                    self.said.clone_from(&said.text);
                    self.trust = self.trust.max(said.trust);
                }
            }
            TapeEvent::ModelCompleted(answer) => self.answered(answer),
            TapeEvent::ToolProposed(proposed) => {
                if let Some(call) = self.call(&proposed.call) {
                    call.payload_sha256 = Some(proposed.payload_sha256.clone());
                    call.effect = Some(proposed.effect);
                    call.with_result = proposed.with_result;
                }
            }
            TapeEvent::ToolGated(gated) => self.step(&gated.call, |_| match gated.decision {
                GateDecision::Allow => CallStep::Allowed,
                GateDecision::Ask | GateDecision::Refuse => {
                    CallStep::Stopped { decision: gated.decision }
                }
            }),
            TapeEvent::ApprovalRequested(asked) => self.step(&asked.call, |was| {
                CallStep::Waiting { approval: asked.approval, started: was.started() }
            }),
            TapeEvent::ApprovalDecided(decided) => self.step(&decided.call, |was| {
                let (approval, state) = (decided.approval, decided.state);
                CallStep::Decided { approval, state, started: was.started() }
            }),
            TapeEvent::ToolStarted(started) => {
                self.step(&started.call, |_| CallStep::Started { attempt: started.attempt });
            }
            TapeEvent::ToolCompleted(done) => {
                self.step(&done.call, |_| CallStep::Ended);
                self.trust = self.trust.max(done.trust);
            }
            TapeEvent::RunFinished(finished) => {
                self.phase = finished.phase;
                self.end = Some(finished.end);
                self.asked = None;
            }
            TapeEvent::RunQueued(_)
            | TapeEvent::ModelDelta(_)
            | TapeEvent::A2uiUpdate(_)
            | TapeEvent::DeliveryEnqueued(_)
            | TapeEvent::DeliverySettled(_) => {}
        }
    }

    /// The calls that change something, were begun and have no end. Nobody knows whether they were done,
    /// unless they are done with their results.
    pub fn begun(&self) -> impl Iterator<Item = &CallState> {
        self.calls
            .iter()
            .filter(|call| call.step.started() > 0 && call.effect != Some(ToolEffect::ReadOnly))
    }

    fn answered(&mut self, answer: &ModelCompleted) {
        self.turns += 1;
        self.asked = None;
        (self.attempts, self.interrupted, self.paid_failures) = (0, 0, 0);
        let tokens = answer.input_tokens.saturating_add(answer.output_tokens);
        self.charge(tokens, answer.cost_micros);
        self.tool_calls =
            self.tool_calls.saturating_add(u32::try_from(answer.calls.len()).unwrap_or(u32::MAX));
        let asked = |call: &Call| CallState {
            call: call.clone(),
            payload_sha256: None,
            effect: None,
            with_result: false,
            step: CallStep::Asked,
        };
        self.calls = answer.calls.iter().map(asked).collect();
        self.finish = Some(answer.finish);
        self.trust = self.trust.max(answer.trust);
        // What it said on its way stands while it goes on, but is no answer.
        match (answer.text.trim().is_empty(), answer.calls.is_empty()) {
            (false, _) => self.said.clone_from(&answer.text),
            (true, true) => self.said.clear(),
            (true, false) => {}
        }
    }

    /// How many attempts at the turn that is next came to nothing by themselves.
    pub fn failures(&self) -> u32 {
        self.attempts.saturating_sub(self.interrupted)
    }

    /// What it used itself.
    pub fn spent(&self) -> Amount {
        Amount { tokens: self.tokens, micros: self.micros }
    }

    fn charge(&mut self, tokens: u64, micros: u64) {
        self.tokens = self.tokens.saturating_add(tokens);
        self.micros = self.micros.saturating_add(micros);
    }

    fn call(&mut self, id: &str) -> Option<&mut CallState> {
        self.calls.iter_mut().find(|call| call.call.id == id)
    }

    fn step(&mut self, id: &str, to: impl FnOnce(&CallStep) -> CallStep) {
        if let Some(call) = self.call(id)
            && call.step != CallStep::Ended
        {
            call.step = to(&call.step);
        }
    }
}

impl Default for RunState {
    fn default() -> Self {
        Self::new()
    }
}

impl CallStep {
    /// How often the call was begun.
    pub fn started(&self) -> u32 {
        match self {
            Self::Started { attempt } => *attempt,
            Self::Waiting { started, .. } | Self::Decided { started, .. } => *started,
            Self::Asked | Self::Allowed | Self::Stopped { .. } | Self::Ended => 0,
        }
    }
}
