//! Calls of tools: what is proposed, what the gate says, what is begun and what is told of it.

use palyra_common::runtime_contracts::{GateDecision, GateReason, ToolEffect, ToolOutcome, Trust};
use palyra_common::tape::{ToolCompleted, ToolGated, ToolProposed, ToolStarted};
use palyra_policy::gate::{Proposal, gate};
use palyra_policy::run::{CallState, CallStep, Next, Recovery};

use super::batch::Place;
use super::{Checked, Owed, Replay, Texts, words};
use crate::tool::{Arguments, payload_sha256};
use crate::tools::DELEGATE;

impl Replay {
    pub(super) fn proposed(&mut self, proposed: &ToolProposed, texts: Texts) -> Checked {
        let call = self.index(&proposed.call).ok_or_else(|| self.today())?;
        self.is_spelled(call, proposed, texts)?;
        let state = &self.state.calls[call];
        let again = state.step.started() > 0;
        let is_other = texts == Texts::Redacted
            || state.payload_sha256.as_deref() != Some(&proposed.payload_sha256);
        let gated = Owed::Gate(call, Box::new(proposed.clone()));
        self.owed = Some(match self.place(call)? {
            Place::Batch(batch) => {
                self.batch = batch.without(call);
                if again { Owed::Question(call) } else { gated }
            }
            Place::Next(Next::Gate(calls)) if calls.first() == Some(&call) => gated,
            Place::Next(next) if is_other && self.asks_human(&next, call) => Owed::Question(call),
            Place::Next(next) => return Err(words::next(&self.state, &next)),
        });
        self.reach.insert(proposed.call.clone(), proposed.reach);
        self.will_show(proposed, texts);
        Ok(())
    }

    /// Whether a proposal is of the call that the model asked for, and its digest that of all it says.
    fn is_spelled(&self, call: usize, proposed: &ToolProposed, texts: Texts) -> Checked {
        let asked = &self.state.calls[call].call;
        if asked.tool != proposed.tool {
            return Err(format!("propose {} for {}", asked.tool, asked.id));
        }
        if texts == Texts::Redacted {
            return Ok(());
        }
        let is_whole = self.spelled == Texts::Whole;
        if is_whole && let Ok(Arguments { text, .. }) = Arguments::parse(&asked.arguments) {
            if text != proposed.arguments {
                return Err(format!("propose {} with {text}", asked.id));
            }
        } else if is_whole {
            return Err(format!("refuse {}: its arguments cannot be read", asked.id));
        }
        let ToolProposed { tool, arguments, bindings, .. } = proposed;
        match payload_sha256(self.run, &asked.id, tool, arguments, bindings) {
            sha if sha == proposed.payload_sha256 => Ok(()),
            sha => Err(format!("propose {} with the digest {sha}", asked.id)),
        }
    }

    /// What the gate says about a proposal. Whether an operator has said what is told to the outside, no
    /// tape tells.
    pub(super) fn gated_as(
        &self,
        call: usize,
        proposed: &ToolProposed,
        gated: &ToolGated,
    ) -> Checked {
        let ToolProposed { effect, risk, reach, .. } = *proposed;
        let decide =
            |said| gate(&Proposal { effect, risk, reach, context: self.state.trust, said });
        let today = [Trust::Operator, Trust::Untrusted].map(decide);
        let is_it = self.state.calls[call].call.id == gated.call;
        if is_it && today.contains(&(gated.decision, gated.reason)) {
            return Ok(());
        }
        Err(words::gated(&proposed.call, &today))
    }

    pub(super) fn gated(&mut self, gated: &ToolGated) -> Checked {
        let call = self.index(&gated.call).ok_or_else(|| self.today())?;
        match (gated.decision, gated.reason) {
            (GateDecision::Allow, GateReason::OutcomeUnknown)
                if self.batch.is_none() && self.recovery(call) == Some(Recovery::Again(call)) =>
            {
                Ok(())
            }
            (
                GateDecision::Refuse,
                GateReason::UnknownTool | GateReason::NotAllowed | GateReason::InvalidArguments,
            ) => {
                self.batch = match self.place(call)? {
                    Place::Batch(batch) if self.state.calls[call].step.started() == 0 => {
                        batch.without(call)
                    }
                    Place::Next(Next::Gate(calls)) if calls.first() == Some(&call) => None,
                    Place::Batch(_) | Place::Next(_) => return Err(self.today()),
                };
                self.owed = Some(Owed::Refusal(call));
                Ok(())
            }
            _ => Err(self.today()),
        }
    }

    /// What follows a refusal, or a call that is one too many.
    pub(super) fn is_refused(&self, call: usize, done: &ToolCompleted) -> Checked {
        let id = &self.state.calls[call].call.id;
        match done.outcome {
            ToolOutcome::Refused if done.call == *id => Ok(()),
            _ => Err(words::owed(&self.state, &Owed::Refusal(call))),
        }
    }

    pub(super) fn started(&mut self, started: &ToolStarted) -> Checked {
        let today = self.today();
        let call = self.index(&started.call).ok_or_else(|| today.clone())?;
        let state = &self.state.calls[call];
        let is_next = started.attempt == state.step.started() + 1;
        let is_delegated = state.call.tool == DELEGATE;
        if !is_next || !self.begin(call) {
            return Err(today);
        }
        if is_delegated && !self.delegated.contains(&started.call) {
            self.delegated.push(started.call.clone());
        }
        Ok(())
    }

    pub(super) fn completed(&mut self, done: &ToolCompleted) -> Checked {
        let is_delegated = self.delegated.contains(&done.call);
        let Some(call) = self.index(&done.call) else {
            return if is_delegated { Ok(()) } else { Err(self.today()) };
        };
        if let CallStep::Started { .. } = self.state.calls[call].step {
            return self.came(done);
        }
        // Whoever works on it may say something at any time.
        if is_delegated || self.is_told(call, done)? {
            return Ok(());
        }
        if self.batch.is_none() && is_left_over(&self.state.calls[call], done.outcome) {
            self.owed = Some(Owed::LeftOver);
            return Ok(());
        }
        Err(self.today())
    }

    /// What came of a call that was begun.
    fn came(&mut self, done: &ToolCompleted) -> Checked {
        match done.outcome {
            ToolOutcome::Done => {
                self.made.push(done.call.clone());
                self.owed = self.shows.remove(&done.call).map(Owed::Shows);
            }
            ToolOutcome::Failed | ToolOutcome::Unknown => {}
            ToolOutcome::Refused | ToolOutcome::Denied | ToolOutcome::Expired => {
                return Err(format!("tell what came of {}, which was begun", done.call));
            }
        }
        Ok(())
    }

    /// Whether the model is told this of a call that is not made.
    fn is_told(&mut self, call: usize, done: &ToolCompleted) -> Result<bool, String> {
        let was_begun = self.state.calls[call].step.started() > 0;
        Ok(match self.place(call)? {
            Place::Batch(batch) => {
                let not_made = if was_begun { ToolOutcome::Unknown } else { ToolOutcome::Failed };
                let is_it = done.outcome == not_made;
                if is_it {
                    self.batch = batch.without(call);
                }
                is_it
            }
            Place::Next(Next::Tell(told, outcome)) => told == call && outcome == done.outcome,
            // It could not be made, so nobody is asked.
            Place::Next(next) => {
                done.outcome == ToolOutcome::Failed && !was_begun && self.asks_human(&next, call)
            }
        })
    }

    /// Whether a human is asked about a call.
    pub(super) fn asks_human(&self, next: &Next, call: usize) -> bool {
        *next == Next::AskHuman(call) || self.recovery(call) == Some(Recovery::AskHuman(call))
    }
}

/// Whether this is what is told at the end of a run of a call that was begun.
pub(super) fn is_left_over(call: &CallState, outcome: ToolOutcome) -> bool {
    let told = if call.with_result { ToolOutcome::Failed } else { ToolOutcome::Unknown };
    call.step.started() > 0 && call.effect != Some(ToolEffect::ReadOnly) && outcome == told
}
