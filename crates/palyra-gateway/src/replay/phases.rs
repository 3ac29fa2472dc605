//! Where a run goes, as far as its engine lets it.

use palyra_common::runtime_contracts::RunLifecyclePhase;
use palyra_common::tape::{Phase, TapeEvent};
use palyra_policy::run::{Event, Next, phase};

use super::{Checked, Last, Replay, unbounded};
use crate::engine::QUEUE_FULL;

/// What a phase says about what may follow.
pub(super) fn last(event: &TapeEvent) -> Last {
    match event {
        TapeEvent::RunPhase(Phase { phase: RunLifecyclePhase::Running, .. }) => Last::Taken,
        _ => Last::Other,
    }
}

impl Replay {
    pub(super) fn moved(&mut self, moved: &Phase) -> Checked {
        let waits = || match self.next() {
            Next::Wait(_) => self.goes(Event::NeedsHuman),
            _ => None,
        };
        let to = match moved.phase {
            RunLifecyclePhase::Running => self.goes(Event::Taken),
            RunLifecyclePhase::Paused => self.goes(Event::Paused),
            RunLifecyclePhase::WaitingForApproval => waits(),
            RunLifecyclePhase::Queued => self.queued(moved.reason.as_deref()),
            // Its end is told otherwise.
            RunLifecyclePhase::Completed
            | RunLifecyclePhase::Failed
            | RunLifecyclePhase::Aborted
            | RunLifecyclePhase::Expired => None,
        };
        if to != Some(moved.phase) {
            return Err(self.today());
        }
        // Whoever takes it next reads them again.
        self.limits = None;
        Ok(())
    }

    /// Where a run goes from where its tape says that it is. That a human has decided is told to a worker
    /// only, which then takes it.
    pub(super) fn goes(&self, event: Event) -> Option<RunLifecyclePhase> {
        let now_in = self.state.phase;
        let after = phase(now_in, Event::Decided);
        phase(now_in, event).or_else(|| phase(after?, event))
    }

    /// A run is queued again when it is resumed, after an attempt that failed, while others work for it,
    /// and when its channel is full.
    fn queued(&self, reason: Option<&str>) -> Option<RunLifecyclePhase> {
        let later = || self.goes(Event::Later);
        let is_full = reason == Some(QUEUE_FULL);
        // Whether there is enough left for another attempt is asked when it is time for it.
        let was_last = self.state.failures() >= self.limits.unwrap_or(unbounded()).attempts;
        match (self.state.phase, self.next()) {
            (RunLifecyclePhase::Paused, _) => self.goes(Event::Resumed),
            // It has not begun, and does not.
            (RunLifecyclePhase::Queued, _) if is_full => Some(RunLifecyclePhase::Queued),
            (_, _) if is_full => later(),
            (_, Next::Nothing) if self.state.asked.is_none() && self.state.auxiliary.is_none() => {
                later()
            }
            (_, _) if self.last == Last::Failed && !was_last => later(),
            (_, _) => None,
        }
    }
}
