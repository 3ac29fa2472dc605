//! The end of a run, and what it sends.

use palyra_common::ids::EnvelopeId;
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase};
use palyra_common::tape::{Limits, Phase, RunFinished, TapeEvent};
use palyra_policy::run::Next;

use super::calls::is_left_over;
use super::{Checked, Last, Owed, Replay, Texts, words};
use crate::engine::{QUEUE_FULL, UNREADABLE, ended_by};
use crate::reply::{call_envelope, reply_envelope};

impl Replay {
    pub(super) fn enqueued(&mut self, envelope: &EnvelopeId) -> Checked {
        let is_reply = reply_envelope(self.run).is_ok_and(|reply| reply == *envelope);
        let of =
            |call: &String| call_envelope(self.run, call).is_ok_and(|message| message == *envelope);
        if is_reply {
            self.owed = Some(Owed::End);
        } else if let Some(made) = self.made.iter().position(of) {
            self.made.remove(made);
        } else {
            return Err(format!("send nothing of this name, and {}", self.today()));
        }
        self.sent.push(envelope.clone());
        Ok(())
    }

    /// What may stand between a call that has no end any more and the end of its run.
    pub(super) fn leaves(&mut self, event: &TapeEvent, texts: Texts) -> Checked {
        match event {
            TapeEvent::ToolCompleted(done) => {
                let call = self.index(&done.call).map(|call| &self.state.calls[call]);
                if !call.is_some_and(|call| is_left_over(call, done.outcome)) {
                    return Err(words::owed(&self.state, &Owed::LeftOver));
                }
                self.owed = Some(Owed::LeftOver);
                Ok(())
            }
            TapeEvent::ModelAbandoned(lost) => {
                self.owed = Some(Owed::LeftOver);
                self.model_lost(lost)
            }
            TapeEvent::AuxTask(task) => {
                self.owed = Some(Owed::LeftOver);
                self.side_call(task)
            }
            TapeEvent::DeliveryEnqueued(sent) => {
                self.owed = Some(Owed::LeftOver);
                self.enqueued(&sent.envelope)
            }
            TapeEvent::RunFinished(finished) => self.finished(finished, texts),
            TapeEvent::RunPhase(Phase {
                reason: Some(reason),
                phase: RunLifecyclePhase::Queued,
            }) if reason == QUEUE_FULL => {
                self.limits = None;
                Ok(())
            }
            _ => Err(words::owed(&self.state, &Owed::LeftOver)),
        }
    }

    pub(super) fn finished(&mut self, finished: &RunFinished, texts: Texts) -> Checked {
        let RunFinished { end, limits, .. } = *finished;
        let today = || words::next(&self.state, &self.next_within(limits));
        // Nobody could read what had happened in it.
        let is_unread = end == RunEnd::CrashLoop && finished.detail.as_deref() == Some(UNREADABLE);
        if !is_unread && !self.may_end(end, limits) {
            return Err(today());
        }
        let ended_by = ended_by(end, &self.state);
        let phase = self.goes(ended_by);
        if phase != Some(finished.phase) {
            let phase = phase.map_or("nothing", RunLifecyclePhase::as_str);
            return Err(format!("{} would be {phase}", end.as_str()));
        }
        let is_open = self.state.asked.is_some() || self.state.auxiliary.is_some();
        if !is_unread && (is_open || self.state.begun().next().is_some()) {
            return Err(words::owed(&self.state, &Owed::LeftOver));
        }
        let is_whole = end != RunEnd::Answered || finished.answer == self.state.said;
        if !is_whole && texts == Texts::Whole && self.spelled == Texts::Whole {
            return Err(format!("answer with what the model said: {}", self.state.said));
        }
        Ok(())
    }

    /// Whether a run may end like this where it is. What the clock, shared budgets and whoever starts
    /// daemons have to do with it, no tape tells.
    fn may_end(&self, end: RunEnd, limits: Option<Limits>) -> bool {
        let next = self.next_within(limits);
        let is_known = limits.is_some();
        let goes_on = matches!(next, Next::Ask { .. } | Next::Gate(_));
        let others = !self.delegated.is_empty();
        let is_over = |limit: RunEnd| next == Next::Finish(limit);
        match end {
            RunEnd::Stopped => true,
            RunEnd::DeadlinePassed => self.state.turns == 0 && self.state.attempts == 0,
            RunEnd::CrashLoop | RunEnd::Misconfigured => {
                // An attempt that was under way is given up with it, and is no failure of the model.
                let was_asked = self.last == Last::Failed && is_over(RunEnd::ModelFailed);
                !matches!(next, Next::Finish(_)) || self.last == Last::Taken || was_asked
            }
            RunEnd::BudgetSpent => matches!(next, Next::Ask { .. }),
            RunEnd::TimeLimit => {
                let dear = is_over(RunEnd::TokenLimit) || is_over(RunEnd::CostLimit);
                goes_on || dear || is_over(end) || self.last == Last::Failed
            }
            RunEnd::TurnLimit | RunEnd::ToolCallLimit => is_over(end) || (goes_on && !is_known),
            // What would be read next may be too long for any model.
            RunEnd::TokenLimit => {
                let others = others && (goes_on || is_over(RunEnd::CostLimit));
                is_over(end) || matches!(next, Next::Ask { .. }) || others || (goes_on && !is_known)
            }
            RunEnd::CostLimit => {
                let capped = limits.is_none_or(|limits| limits.micros.is_some());
                let asks = matches!(next, Next::Ask { .. }) || (others || !is_known) && goes_on;
                is_over(end) || (capped && asks)
            }
            RunEnd::ModelFailed => is_over(end) || self.last == Last::Failed,
            RunEnd::Answered | RunEnd::NoAnswer | RunEnd::AnswerCut | RunEnd::ModelRefused => {
                is_over(end)
            }
        }
    }
}
