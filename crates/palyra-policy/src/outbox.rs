//! The life of an outgoing message.
//!
//! Three things can be true of an attempt: it was done, it was not, or nobody knows. An entry of
//! which some attempt is in doubt never dies and is never sent again as if nothing had happened,
//! unless the platform throws the second copy away.

mod ended;
mod lane;
mod open;
mod vocabulary;

#[cfg(test)]
mod tests;

use palyra_common::runtime_contracts::OutboxState;

pub use lane::{Earlier, Follow, after_earlier, returned};
pub use open::asked_to_wait;
pub use vocabulary::{
    Change, Death, Entry, Event, Moment, Outcome, Place, Reconciled, Repeat, Resolution, Rules,
    Step, Why, connector_time,
};

use crate::backoff::Chance;

/// What becomes of an entry through an event.
pub fn step(entry: &Entry, event: Event, rules: &Rules, moment: Moment, chance: Chance) -> Step {
    let context = Context { entry: *entry, rules, moment, chance };
    match entry.state {
        OutboxState::Held => context.held(event),
        OutboxState::Pending => context.pending(event),
        OutboxState::Sending => context.sending(event),
        OutboxState::Unknown => context.unknown(event),
        OutboxState::Dead => context.dead(event),
        OutboxState::Delivered | OutboxState::Cancelled => Step::Unchanged(Why::Ended),
    }
}

/// What is to be done with the first entry of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Ask the platform for a permit, then let it be its [`Event::Turn`].
    Send,
    /// Ask the platform what became of it.
    Look,
    /// Nothing before this time.
    WaitUntil(palyra_common::time::Timestamp),
    /// Nothing until somebody decides, or until an attempt under way ends.
    Wait,
}

/// What is to be done with an entry now.
pub fn next(entry: &Entry, moment: Moment) -> Next {
    match (entry.state, entry.due_at) {
        (OutboxState::Pending | OutboxState::Unknown, Some(due)) if due > moment.now => {
            Next::WaitUntil(due)
        }
        (OutboxState::Pending, Some(_)) => Next::Send,
        (OutboxState::Unknown, Some(_)) => Next::Look,
        (
            OutboxState::Held
            | OutboxState::Pending
            | OutboxState::Sending
            | OutboxState::Unknown
            | OutboxState::Dead
            | OutboxState::Delivered
            | OutboxState::Cancelled,
            _,
        ) => Next::Wait,
    }
}

struct Context<'a> {
    entry: Entry,
    rules: &'a Rules,
    moment: Moment,
    chance: Chance,
}
