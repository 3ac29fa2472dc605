//! Calls that are begun together: each of them is looked at once more, and then those that are still
//! as they were decided are begun.

use palyra_common::tape::TapeEvent;
use palyra_policy::run::Next;

use super::Replay;

/// What is left of them. There is none without a call in it.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    left: Vec<usize>,
    is_starting: bool,
}

/// Where an event about a call stands.
pub(super) enum Place {
    /// Among calls that are looked at before they are begun.
    Batch(Batch),
    /// This comes next in the run.
    Next(Next),
}

impl Batch {
    pub(super) fn left(&self) -> &[usize] {
        &self.left
    }

    /// The same without a call that is not begun.
    pub(super) fn without(mut self, call: usize) -> Option<Self> {
        self.left.retain(|left| *left != call);
        Some(self).filter(|batch| !batch.left.is_empty())
    }

    /// The same after this call was begun, if it is its turn.
    fn begin(self, call: usize) -> Option<Option<Self>> {
        let is_its_turn = self.left.first() == Some(&call);
        is_its_turn.then(|| Self { is_starting: true, ..self }.without(call))
    }
}

impl Replay {
    /// Where an event about this call stands. What is being begun is not looked at any more.
    pub(super) fn place(&self, call: usize) -> Result<Place, String> {
        match &self.batch {
            Some(batch) if !batch.is_starting && batch.left.contains(&call) => {
                Ok(Place::Batch(batch.clone()))
            }
            Some(_) => Err(self.today()),
            None => Ok(match self.next() {
                Next::Start(left) if left.contains(&call) => {
                    Place::Batch(Batch { left, is_starting: false })
                }
                next => Place::Next(next),
            }),
        }
    }

    /// Begins a call. Says whether it is its turn.
    pub(super) fn begin(&mut self, call: usize) -> bool {
        let batch = match (self.batch.take(), self.next()) {
            (Some(batch), _) => batch,
            (None, Next::Start(left)) => Batch { left, is_starting: false },
            (None, _) => return false,
        };
        match batch.begin(call) {
            Some(left) => {
                self.batch = left;
                true
            }
            None => false,
        }
    }
}

/// Whether an event may stand among those that tell how calls are begun.
pub(super) fn is_part(event: &TapeEvent) -> bool {
    matches!(
        event,
        TapeEvent::ToolProposed(_)
            | TapeEvent::ToolGated(_)
            | TapeEvent::ApprovalRequested(_)
            | TapeEvent::ToolStarted(_)
            | TapeEvent::ToolCompleted(_)
    )
}
