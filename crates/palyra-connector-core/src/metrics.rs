//! The names of this crate's figures, and where they are counted.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use palyra_common::ids::ConnectorId;
use palyra_common::time::Timestamp;

use crate::outbox::{QueueView, Report};
use crate::store::outbox::Stored;

/// Messages in queues, by channel and by what they wait for.
pub const MESSAGES: &str = "palyra_outbox_messages";
/// How long the first message of the slowest conversation has waited, by channel.
pub const OLDEST: &str = "palyra_outbox_oldest_age_seconds";
/// Attempts that have ended here, by channel and by what came of them.
pub const ATTEMPTS: &str = "palyra_outbox_attempts_total";
/// From when a message was enqueued until the platform had it, by channel.
pub const DELIVERED_AFTER: &str = "palyra_outbox_delivery_seconds";

/// Tells whoever collects figures what these mean.
pub fn describe() {
    describe_gauge!(MESSAGES, "Messages in queues, by channel and by what they wait for");
    describe_gauge!(OLDEST, "How long the first message of a conversation waits, at most");
    describe_counter!(ATTEMPTS, "Attempts to send that have ended on this node, by outcome");
    describe_histogram!(DELIVERED_AFTER, "How long messages took from the queue to the platform");
}

/// Tells how the queue of a connector does.
pub fn observe(connector: &ConnectorId, queue: &QueueView, now: Timestamp) {
    let waits_for = [
        ("turn", queue.waiting),
        ("approval", queue.held),
        ("replay", queue.facts.dead),
        ("certainty", queue.facts.unknown),
    ];
    for (waits_for, count) in waits_for {
        let channel = connector.to_string();
        gauge!(MESSAGES, "channel" => channel, "waits_for" => waits_for).set(count as f64);
    }
    let age = queue.oldest.map_or(0, |oldest| now.since(oldest).as_millis());
    gauge!(OLDEST, "channel" => connector.to_string()).set(age as f64 / 1_000.0);
}

/// An attempt has ended.
pub(crate) fn tried(stored: &Stored, report: &Report, now: Timestamp) {
    let channel = stored.key.connector.to_string();
    if matches!(report, Report::Delivered { .. }) {
        let after = now.since(stored.created_at).as_millis();
        histogram!(DELIVERED_AFTER, "channel" => channel.clone()).record(after as f64 / 1_000.0);
    }
    let outcome = match report {
        Report::Delivered { .. } => "delivered",
        Report::Retry { class, .. } => class.as_str(),
        Report::Rejected { .. } => "rejected",
        Report::AuthFailed { .. } => "auth_failed",
        Report::Unknown { .. } => "unknown",
    };
    counter!(ATTEMPTS, "channel" => channel, "outcome" => outcome).increment(1);
}
