//! Side calls of a run: what is written about them where a model is about to be asked. Whether there is
//! one at all is no decision of the tape: it follows from what was said in other runs.

use palyra_common::runtime_contracts::{
    AuxiliaryReason, AuxiliaryTaskState as State, RunLifecyclePhase,
};
use palyra_common::tape::AuxTask;
use palyra_policy::budget::Amount;
use palyra_policy::run::{Next, OpenTask, too_dear};

use super::{Checked, Replay, UNTOLD, unbounded};

/// How many attempts there are at one: the second repairs the first.
const MOST_ATTEMPTS: u32 = 2;

impl Replay {
    pub(super) fn side_call(&mut self, event: &AuxTask) -> Checked {
        match (self.state.auxiliary, event.state) {
            (None, State::Running) if event.attempt == 1 => self.begins(event),
            // Nobody was asked.
            (None, State::Failed) if event.reason == Some(AuxiliaryReason::BudgetSpent) => {
                self.may_begin()
            }
            (Some(open), State::Running) if is_repair(open, event) => self.sets_aside(event),
            (Some(open), State::Succeeded | State::Failed | State::Cancelled)
                if is_same(open, event) =>
            {
                self.ends(event)
            }
            (_, State::Pending | State::Running)
            | (_, State::Succeeded | State::Failed | State::Cancelled) => Err(self.today()),
        }
    }

    fn begins(&mut self, event: &AuxTask) -> Checked {
        self.may_begin()?;
        if (event.charged_tokens, event.charged_micros) != (0, 0) {
            return Err("charge nothing before a model is asked".to_owned());
        }
        self.sets_aside(event)
    }

    /// One for each run, before a model is asked.
    fn may_begin(&self) -> Checked {
        let is_asking = matches!(self.next(), Next::Ask { .. });
        let is_running = self.state.phase == RunLifecyclePhase::Running;
        match is_asking && is_running && self.state.auxiliary_tasks == 0 {
            true => Ok(()),
            false => Err(self.today()),
        }
    }

    fn sets_aside(&mut self, event: &AuxTask) -> Checked {
        let reserved = Amount { tokens: event.reserved_tokens, micros: event.reserved_micros };
        let limits = self.limits.unwrap_or(unbounded());
        if too_dear(&self.state, &limits, UNTOLD, reserved).is_some() {
            return Err("make no side call: the run may not take as much".to_owned());
        }
        self.reserved = reserved;
        Ok(())
    }

    fn ends(&self, event: &AuxTask) -> Checked {
        let Amount { tokens, micros } = self.reserved;
        let is_lost = event.reason == Some(AuxiliaryReason::Interrupted);
        let charged = (event.charged_tokens, event.charged_micros);
        if is_lost && charged != (tokens, micros) {
            return Err(format!("charge all that was set aside: {tokens} tokens, {micros} micros"));
        }
        let says_why = event.reason.is_some();
        match (event.state, says_why) {
            (State::Succeeded, true) | (State::Failed | State::Cancelled, false) => {
                Err("say why exactly where no model has met the contract".to_owned())
            }
            (State::Cancelled, true) if !is_lost => {
                Err("cancel it only where it was interrupted".to_owned())
            }
            (_, _) => Ok(()),
        }
    }
}

fn is_same(open: OpenTask, event: &AuxTask) -> bool {
    (open.task, open.kind, open.attempt) == (event.task, event.task_kind, event.attempt)
}

fn is_repair(open: OpenTask, event: &AuxTask) -> bool {
    let next = OpenTask { attempt: open.attempt + 1, ..open };
    is_same(next, event) && event.attempt <= MOST_ATTEMPTS
}
