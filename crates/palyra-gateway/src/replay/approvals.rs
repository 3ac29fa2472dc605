//! Questions to humans, and their answers.

use palyra_common::runtime_contracts::{ApprovalState, ApprovalSubject};
use palyra_common::tape::{ApprovalDecided, ApprovalRequested};

use super::batch::Place;
use super::{Checked, Replay};
use crate::engine::subject;

impl Replay {
    pub(super) fn human_asked(&mut self, asked: &ApprovalRequested) -> Checked {
        let call = self.index(&asked.call).ok_or_else(|| self.today())?;
        match self.place(call)? {
            // It has changed, and may have been done already.
            Place::Batch(batch) if self.state.calls[call].step.started() > 0 => {
                self.batch = batch.without(call);
            }
            Place::Next(next) if self.asks_human(&next, call) => {}
            Place::Batch(_) | Place::Next(_) => return Err(self.today()),
        }
        self.asks(call, asked)
    }

    /// Whether a question is the one that is asked about this call.
    pub(super) fn asks(&mut self, call: usize, asked: &ApprovalRequested) -> Checked {
        let state = &self.state.calls[call];
        let reach = self.reach.get(&state.call.id);
        let about = match (state.step.started() > 0, reach) {
            (true, _) => Some(ApprovalSubject::UnknownOutcome),
            (false, reach) => reach.map(|reach| subject(&state.call.tool, *reach)),
        };
        if asked.call != state.call.id || about.is_some_and(|about| about != asked.subject) {
            let about = about.map(|about| format!(": {about}")).unwrap_or_default();
            return Err(format!("ask a human about {}{about}", state.call.id));
        }
        self.asked.insert(asked.approval, asked.call.clone());
        Ok(())
    }

    pub(super) fn decided(&mut self, decided: &ApprovalDecided) -> Checked {
        let was_asked = self.asked.remove(&decided.approval);
        if was_asked.as_ref() != Some(&decided.call) || decided.state == ApprovalState::Pending {
            return Err("nothing: there is no such answer to a question of this run".to_owned());
        }
        Ok(())
    }
}
