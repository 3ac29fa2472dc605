//! Whether the platform is heard, by what it has said and not by what still runs here.

use palyra_common::runtime_contracts::ConnectorContact;
use palyra_common::time::{Duration, Timestamp};

/// What is known of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContactFacts {
    /// Since when there is one.
    pub connected_since: Option<Timestamp>,
    /// When the platform last answered a heartbeat.
    pub last_ack_at: Option<Timestamp>,
    /// How often it is to answer one; nothing: there are no heartbeats.
    pub acks_every: Option<Duration>,
}

/// So many answers have to be missing: one may be late.
const MISSED: u64 = 2;

/// Whether the platform is heard at `now`.
pub fn contact(facts: &ContactFacts, now: Timestamp) -> ConnectorContact {
    match facts.connected_since {
        None => ConnectorContact::None,
        Some(_) if silent_since(facts, now).is_some() => ConnectorContact::Silent,
        Some(_) => ConnectorContact::Heard,
    }
}

/// Since when a platform that should answer has not, if that is too long ago.
pub fn silent_since(facts: &ContactFacts, now: Timestamp) -> Option<Timestamp> {
    let connected_since = facts.connected_since?;
    let patience = facts.acks_every?.as_millis().saturating_mul(MISSED);
    // What was answered on an earlier connection says nothing about this one.
    let last = facts.last_ack_at.map_or(connected_since, |ack| ack.max(connected_since));
    (now.since(last) > Duration::from_millis(patience)).then_some(last)
}

#[cfg(test)]
mod tests;
