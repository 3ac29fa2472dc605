//! How long what has ended is kept.

use palyra_common::time::Duration;
use palyra_storage::retention::{Keep, Rule};

use crate::store;

/// Content is kept for this long, for context and for whoever asks what was said.
const CONTENT_KEPT: Duration = Duration::from_days(30);
/// Keys outlive it, and everything that a platform could still deliver again.
const KEYS_KEPT: Duration = Duration::from_days(90);

/// The retention of what this crate keeps.
pub fn rules() -> Vec<Rule> {
    let keep = |age| Keep { age, count: i64::MAX };
    vec![
        Rule {
            table: "outbox",
            keep: keep(KEYS_KEPT),
            step: |tx, step| store::outbox::aside::sweep(tx, step.before, step.limit),
        },
        Rule {
            table: "outbox_lanes",
            keep: keep(Duration::ZERO),
            step: |tx, step| store::outbox_lanes::sweep(tx, step.limit),
        },
        Rule {
            table: "outbox",
            keep: keep(CONTENT_KEPT),
            step: |tx, step| store::outbox::ended::strip(tx, step.before, step.limit),
        },
        Rule {
            table: "outbox",
            keep: keep(KEYS_KEPT),
            step: |tx, step| store::outbox::ended::sweep(tx, step.before, step.limit),
        },
        Rule {
            table: "inbound_events",
            keep: keep(CONTENT_KEPT),
            step: |tx, step| store::inbound_events::strip(tx, step.before, step.limit),
        },
        Rule {
            table: "inbound_events",
            keep: keep(KEYS_KEPT),
            step: |tx, step| store::inbound_events::sweep(tx, step.before, step.limit),
        },
    ]
}
