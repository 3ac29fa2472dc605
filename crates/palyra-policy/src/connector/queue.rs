//! How the queue of a connector does, in one word and with reasons.

use palyra_common::runtime_contracts::{ConnectorReadiness, ConnectorSaturation};

/// What is known of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFacts {
    /// Whether the connector has what it needs.
    pub readiness: ConnectorReadiness,
    /// Whether an operator has paused it.
    pub flow: Flow,
    /// How many messages wait in the fullest conversation.
    pub deepest_lane: u64,
    /// How many may.
    pub lane_limit: u64,
    /// Conversations that wait because the platform asked for it.
    pub rate_limited: u64,
    /// Conversations whose first message has failed and is tried again.
    pub retrying: u64,
    /// Messages that will not be sent unless somebody replays them.
    pub dead: u64,
    /// Messages of which nobody knows whether they arrived.
    pub unknown: u64,
}

/// Whether messages may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// They may.
    Open,
    /// An operator has paused them.
    Paused,
}

/// From this share of its limit on, a conversation counts as one into which more comes than goes out.
const PRESSURE_PERCENT: u64 = 80;

/// How a queue does: the gravest of what is the case. Nothing of it: healthy.
pub fn saturation(facts: &QueueFacts) -> ConnectorSaturation {
    let gravest = all(facts).into_iter().next();
    gravest.map_or(ConnectorSaturation::Healthy, |(saturation, _)| saturation)
}

/// Why, the gravest first, in words.
pub fn reasons(facts: &QueueFacts) -> Vec<String> {
    all(facts).into_iter().map(|(_, reason)| reason).collect()
}

fn all(facts: &QueueFacts) -> Vec<(ConnectorSaturation, String)> {
    use ConnectorSaturation as S;
    let mut all = Vec::new();
    let mut add = |when: bool, what: S, why: String| all.extend(when.then_some((what, why)));
    let refused = match facts.readiness {
        ConnectorReadiness::Ready => None,
        ConnectorReadiness::MissingCredential => Some("a secret that it needs is missing"),
        ConnectorReadiness::AuthFailed => Some("the platform refuses its secret"),
        ConnectorReadiness::Misconfigured => Some("its settings cannot work"),
    };
    add(refused.is_some(), S::AuthFailed, refused.unwrap_or_default().to_owned());
    add(facts.flow == Flow::Paused, S::Paused, "an operator has paused it".to_owned());
    let pressed = facts.deepest_lane.saturating_mul(100)
        >= facts.lane_limit.saturating_mul(PRESSURE_PERCENT)
        && facts.lane_limit > 0;
    let (deepest, limit) = (facts.deepest_lane, facts.lane_limit);
    add(pressed, S::Backpressure, format!("{deepest} of {limit} messages wait in a conversation"));
    let (held, retrying) = (facts.rate_limited, facts.retrying);
    add(held > 0, S::RateLimited, format!("the platform asks to wait ({})", lanes(held)));
    add(
        retrying > 0,
        S::Retrying,
        format!("messages failed and are tried again ({})", lanes(retrying)),
    );
    let (dead, unknown) = (facts.dead, facts.unknown);
    add(dead > 0, S::DeadLettered, format!("{} given up", messages(dead)));
    let doubt = format!("nobody knows whether {} arrived", messages(unknown));
    add(unknown > 0, S::DeadLettered, doubt);
    all
}

fn lanes(count: u64) -> String {
    if count == 1 { "1 conversation".into() } else { format!("{count} conversations") }
}

fn messages(count: u64) -> String {
    if count == 1 { "1 message".into() } else { format!("{count} messages") }
}

#[cfg(test)]
mod tests;
