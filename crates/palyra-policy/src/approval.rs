//! The life of a question to a human.

use palyra_common::runtime_contracts::ApprovalState;
use palyra_common::time::Timestamp;

#[cfg(test)]
mod tests;

/// What happens to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A human says yes.
    Approve,
    /// A human says no.
    Deny,
    /// Time passes.
    Tick,
    /// What it is about is no longer wanted, or has changed.
    Withdraw,
}

/// Why nothing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It was decided before.
    Decided(ApprovalState),
    /// Its time is not up.
    NotYet,
}

/// What becomes of a question. An answer that comes after its time is too late.
pub fn step(
    state: ApprovalState,
    expires_at: Timestamp,
    event: Event,
    now: Timestamp,
) -> Result<ApprovalState, Why> {
    match state {
        ApprovalState::Approved
        | ApprovalState::Denied
        | ApprovalState::Expired
        | ApprovalState::Cancelled => Err(Why::Decided(state)),
        ApprovalState::Pending => match event {
            Event::Withdraw => Ok(ApprovalState::Cancelled),
            Event::Approve | Event::Deny | Event::Tick if expires_at <= now => {
                Ok(ApprovalState::Expired)
            }
            Event::Approve => Ok(ApprovalState::Approved),
            Event::Deny => Ok(ApprovalState::Denied),
            Event::Tick => Err(Why::NotYet),
        },
    }
}
