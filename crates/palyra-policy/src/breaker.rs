//! When somebody who keeps failing is left alone, and when they are tried again.
//!
//! After a few failures in a row nobody is let through for a while; then one call may try, and what
//! comes of it decides for all. Whoever asks to be left alone until a time is left alone until then.

use palyra_common::queue::Backoff;
use palyra_common::time::{Duration, Timestamp};

use crate::backoff::bound;

#[cfg(test)]
mod tests;

/// The longest time for which anybody is left alone, whatever they ask for.
pub const LONGEST: Duration = Duration::from_hours(1);

/// How much is forgiven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// This many failures in a row are too many; at least one is.
    pub failures: u32,
    /// How long to leave alone then, and how much longer each time that a try fails.
    pub pause: Backoff,
    /// A try of which nothing was heard for this long counts as given up.
    pub patience: Duration,
}

/// What is known of somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaker {
    /// Calls go through.
    Closed {
        /// How many have failed in a row.
        failures: u32,
    },
    /// No call goes through.
    Open {
        /// How often in a row it came to this.
        trips: u32,
        /// Since when.
        since: Timestamp,
        /// For how long.
        pause: Duration,
    },
    /// One call tries.
    Trying {
        /// As before the try.
        trips: u32,
        /// Since when it tries.
        since: Timestamp,
    },
}

impl Default for Breaker {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

/// What to do with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Make it, and say what came of it.
    Go,
    /// Do not make it before this time has passed.
    Wait(Duration),
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// An answer, also a refusal: somebody is there.
    Answered,
    /// Nothing that could be used.
    Failed,
    /// They ask to be left alone for this long.
    Limited(Duration),
    /// Whoever called did not wait for it.
    Abandoned,
}

/// Whether a call may be made now.
pub fn ask(is: Breaker, rules: &Rules, now: Timestamp) -> (Breaker, Verdict) {
    match is {
        Breaker::Closed { .. } => (is, Verdict::Go),
        Breaker::Open { trips, since, pause } => match left(since, pause, now) {
            Some(left) => (is, Verdict::Wait(left)),
            None => (Breaker::Trying { trips, since: now }, Verdict::Go),
        },
        Breaker::Trying { trips, since } => match left(since, rules.patience, now) {
            // Nobody knows how long the try takes, but not longer than this.
            Some(left) => (is, Verdict::Wait(left.min(rules.pause.base))),
            None => (Breaker::Trying { trips, since: now }, Verdict::Go),
        },
    }
}

/// What follows from the outcome of a call that was let through.
pub fn settle(is: Breaker, outcome: Outcome, rules: &Rules, now: Timestamp) -> Breaker {
    match outcome {
        Outcome::Answered => Breaker::default(),
        Outcome::Failed => failed(is, rules, now),
        Outcome::Limited(asked) => {
            let pause = asked.min(LONGEST);
            match is {
                // What was asked for before may last longer.
                Breaker::Open { since, pause: before, .. }
                    if left(since, before, now).is_some_and(|left| left >= pause) =>
                {
                    is
                }
                Breaker::Open { trips, .. } | Breaker::Trying { trips, .. } => {
                    Breaker::Open { trips, since: now, pause }
                }
                Breaker::Closed { .. } => Breaker::Open { trips: 0, since: now, pause },
            }
        }
        Outcome::Abandoned => match is {
            // The next one tries.
            Breaker::Trying { trips, .. } => {
                Breaker::Open { trips, since: now, pause: Duration::ZERO }
            }
            Breaker::Closed { .. } | Breaker::Open { .. } => is,
        },
    }
}

fn failed(is: Breaker, rules: &Rules, now: Timestamp) -> Breaker {
    let open = |trips: u32| {
        let pause = bound(rules.pause, trips).min(LONGEST);
        Breaker::Open { trips, since: now, pause }
    };
    match is {
        Breaker::Closed { failures } => match failures.saturating_add(1) {
            failures if failures >= rules.failures => open(1),
            failures => Breaker::Closed { failures },
        },
        // It was under way before; what is known already is worse.
        Breaker::Open { .. } => is,
        Breaker::Trying { trips, .. } => open(trips.saturating_add(1)),
    }
}

/// How much of a time is left. Nothing, if the clock was put back: otherwise it could last for ever.
fn left(since: Timestamp, length: Duration, now: Timestamp) -> Option<Duration> {
    let passed = now.since(since).as_millis();
    let left = length.as_millis().saturating_sub(passed);
    (now >= since && left > 0).then_some(Duration::from_millis(left))
}
