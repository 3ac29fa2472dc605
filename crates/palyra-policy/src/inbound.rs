//! The life of an incoming message: kept first, decided in the same transaction if that is
//! possible, and later if it is not. Being handled does not depend on an answer having been sent.

use palyra_common::queue::Backoff;
use palyra_common::runtime_contracts::{InboundState, RouteReason};
use palyra_common::time::Timestamp;

use crate::backoff::{Chance, wait};

#[cfg(test)]
mod tests;

/// What decides the fate of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Where it is in its life.
    pub state: InboundState,
    /// Why it was taken or not.
    pub reason: Option<RouteReason>,
    /// How often nothing could be decided.
    pub failures: u32,
    /// When to try again. Nothing: it is decided.
    pub due_at: Option<Timestamp>,
}

impl Received {
    /// One that has just come in.
    pub fn new(now: Timestamp) -> Self {
        Self { state: InboundState::Received, reason: None, failures: 0, due_at: Some(now) }
    }
}

/// What happens to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An agent has it.
    Routed(RouteReason),
    /// No agent is to have it.
    Ignored(RouteReason),
    /// Nothing could be decided now.
    Undecided,
    /// The platform has sent it again.
    Redelivered,
}

/// What becomes of an event. Nothing: it stays as it is.
pub fn step(
    received: &Received,
    event: Event,
    backoff: Backoff,
    now: Timestamp,
    chance: Chance,
) -> Option<Received> {
    match (received.state, event) {
        (InboundState::Routed | InboundState::Ignored, _) | (_, Event::Redelivered) => None,
        (InboundState::Received, Event::Routed(reason)) => {
            Some(decided(received, InboundState::Routed, reason))
        }
        (InboundState::Received, Event::Ignored(reason)) => {
            Some(decided(received, InboundState::Ignored, reason))
        }
        (InboundState::Received, Event::Undecided) => {
            let failures = received.failures.saturating_add(1);
            let due_at = Some(now + wait(backoff, failures, chance));
            Some(Received { failures, due_at, ..*received })
        }
    }
}

fn decided(received: &Received, state: InboundState, reason: RouteReason) -> Received {
    Received { state, reason: Some(reason), due_at: None, ..*received }
}
