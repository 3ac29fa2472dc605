//! How the parts of one message wait for each other.

use palyra_common::runtime_contracts::OutboxState;

use super::{Entry, Moment, Rules};

/// What an entry waits for: the part before it, or the message that it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier {
    /// Where that one is in its life.
    pub state: OutboxState,
    /// Whether it has stepped aside to wait for a human.
    pub aside: bool,
}

/// What an entry does, given what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// It goes on.
    Go,
    /// It keeps its place and waits.
    Wait,
    /// It steps aside until the other is settled, and then takes its place again.
    StepAside,
    /// It cannot be sent any more.
    Fail,
}

/// What an entry does, given what it waits for.
pub fn after_earlier(earlier: Earlier) -> Follow {
    match earlier.state {
        OutboxState::Delivered => Follow::Go,
        OutboxState::Dead | OutboxState::Cancelled => Follow::Fail,
        OutboxState::Held => Follow::StepAside,
        OutboxState::Pending | OutboxState::Sending | OutboxState::Unknown => {
            if earlier.aside {
                Follow::StepAside
            } else {
                Follow::Wait
            }
        }
    }
}

/// An entry that takes its place again. While it had stepped aside nobody could send it, so it is as
/// young as one just written; its tries stay counted.
pub fn returned(entry: Entry, rules: &Rules, moment: Moment) -> Entry {
    Entry { expires_at: Some(moment.connector + rules.expires_after), ..entry }
}
