//! Where a run goes: the table of phases decides, and what it does not know is not written down.

use palyra_common::runtime_contracts::RunLifecyclePhase;
use palyra_common::tape::{Phase, TapeEvent};
use palyra_common::time::Timestamp;
use palyra_policy::run::{self as policy, Event};

use super::commit::{Committed, Then};
use super::drive::{Flow, Held};
use crate::error::GatewayError;

impl Held {
    /// Lets the run go where the table of phases says that it goes.
    pub(super) fn moves(
        &mut self,
        event: Event,
        reason: Option<String>,
    ) -> Result<RunLifecyclePhase, GatewayError> {
        let to = self.goes(event)?;
        self.push(moved(to, reason));
        Ok(to)
    }

    /// Where that is.
    pub(super) fn goes(&self, event: Event) -> Result<RunLifecyclePhase, GatewayError> {
        let (run, now_in) = (self.run.id, self.state.phase);
        let wanted = "worked on like this";
        policy::phase(now_in, event).ok_or(GatewayError::NotNow { run, phase: now_in, wanted })
    }

    /// Writes down what is decided, and that the run waits: until `due`, or until something happens.
    pub(super) async fn wait(
        &mut self,
        event: Event,
        reason: Option<String>,
        due: Option<Timestamp>,
    ) -> Result<Flow, GatewayError> {
        let before = self.state.phase;
        let then = match self.moves(event, reason)? {
            RunLifecyclePhase::Queued => Then::Later(due),
            phase => Then::LetGo(phase),
        };
        match self.flush(then).await? {
            Committed::Signalled => {
                // It does not wait after all, whether or not anybody has called yet.
                self.pending.pop();
                self.state.phase = before;
                self.signalled.call();
                Ok(Flow::GoOn)
            }
            Committed::Done { .. } | Committed::Lost => Ok(Flow::Stop),
            Committed::QueueFull(_) | Committed::Spent(_) => Ok(Flow::Stop),
        }
    }
}

pub(super) fn moved(phase: RunLifecyclePhase, reason: Option<String>) -> TapeEvent {
    TapeEvent::RunPhase(Phase { phase, reason })
}
