//! Entries that wait or are under way.

use palyra_common::runtime_contracts::{OutboxState, RetryClass, UnknownRule};
use palyra_common::time::{Duration, Timestamp};

use super::Context;
use super::vocabulary::{
    Change, Death, Entry, Event, Outcome, Place, Reconciled, Repeat, Resolution, Step, Why,
};
use crate::backoff::wait;

impl Context<'_> {
    pub(super) fn held(&self, event: Event) -> Step {
        match event {
            Event::Approved => changed(self.anew(self.entry), Place::Tail),
            Event::Cancelled => self.cancelled(),
            Event::Turn
            | Event::NotAdmitted { .. }
            | Event::Outcome(_)
            | Event::Abandoned
            | Event::Reconciled(_)
            | Event::Resolved(_)
            | Event::EarlierPartFailed
            | Event::Replayed
            | Event::Discarded => Step::Unchanged(Why::NotNow),
        }
    }

    pub(super) fn pending(&self, event: Event) -> Step {
        match event {
            Event::Turn => self.turn(),
            Event::NotAdmitted { .. } if self.is_too_old() => self.died(self.entry, Death::Expired),
            Event::NotAdmitted { until } => changed(self.waiting(self.entry, until), Place::Keeps),
            Event::Cancelled => self.cancelled(),
            Event::EarlierPartFailed => self.died(self.entry, Death::PartFailed),
            Event::Approved
            | Event::Outcome(_)
            | Event::Abandoned
            | Event::Reconciled(_)
            | Event::Resolved(_)
            | Event::Replayed
            | Event::Discarded => Step::Unchanged(Why::NotNow),
        }
    }

    /// The attempt is written down as begun: whoever finds it later knows that it may have been
    /// made.
    fn turn(&self) -> Step {
        let entry = self.entry;
        if self.is_too_old() {
            return self.died(entry, Death::Expired);
        }
        if entry.due_at.is_none_or(|due| due > self.moment.now) {
            return Step::Unchanged(Why::NotDue);
        }
        if entry.doubtful && !self.may_repeat(&entry) {
            return self.in_doubt(entry);
        }
        let first_attempt_at = Some(entry.first_attempt_at.unwrap_or(self.moment.now));
        let sending =
            Entry { state: OutboxState::Sending, first_attempt_at, due_at: None, ..entry };
        changed(sending, Place::Keeps)
    }

    fn is_too_old(&self) -> bool {
        self.entry.expires_at.is_some_and(|expires| expires <= self.moment.connector)
    }

    pub(super) fn sending(&self, event: Event) -> Step {
        match event {
            Event::Outcome(outcome) => self.outcome(outcome),
            Event::Abandoned => self.unclear(Duration::ZERO),
            Event::Approved
            | Event::Cancelled
            | Event::Turn
            | Event::NotAdmitted { .. }
            | Event::Reconciled(_)
            | Event::Resolved(_)
            | Event::EarlierPartFailed
            | Event::Replayed
            | Event::Discarded => Step::Unchanged(Why::NotNow),
        }
    }

    fn outcome(&self, outcome: Outcome) -> Step {
        let tried = self.tried();
        match outcome {
            Outcome::Delivered => delivered(tried),
            Outcome::Rejected => self.died(tried, Death::Rejected),
            // Not a try of this message: the platform would have refused any.
            Outcome::AuthFailed => self.again(self.entry, Duration::ZERO),
            Outcome::Retry { class, after } => self.failed(tried, class, asked_to_wait(after)),
            Outcome::Unknown => self.unclear(self.backoff(&tried)),
        }
    }

    fn failed(&self, tried: Entry, class: RetryClass, asked: Option<Duration>) -> Step {
        match (class, asked) {
            (RetryClass::Permanent, _) => self.died(tried, Death::Rejected),
            // The platform asks to wait, and for how long: only age ends that.
            (
                RetryClass::RateLimit
                | RetryClass::ConnectorRestarting
                | RetryClass::TransientNetwork,
                Some(asked),
            ) => self.again(self.entry, asked),
            (RetryClass::RateLimit | RetryClass::ConnectorRestarting, None) => {
                self.again(self.entry, self.rules.backoff.base)
            }
            (RetryClass::TransientNetwork, None) => {
                if tried.attempts >= tried.attempt_limit {
                    return self.died(tried, Death::AttemptsExhausted);
                }
                self.again(tried, self.backoff(&tried))
            }
        }
    }

    /// The attempt may have reached the other side.
    fn unclear(&self, wait: Duration) -> Step {
        let entry = Entry { doubtful: true, ..self.tried() };
        if entry.attempts < entry.attempt_limit && self.may_repeat(&entry) {
            return self.again(entry, wait);
        }
        self.in_doubt(entry)
    }

    pub(super) fn unknown(&self, event: Event) -> Step {
        match event {
            Event::Reconciled(Reconciled::Delivered)
            | Event::Resolved(Resolution::MarkDelivered) => delivered(self.entry),
            Event::Reconciled(Reconciled::NotDelivered) => self.was_not_delivered(),
            Event::Reconciled(Reconciled::StillUnknown) => self.still_unknown(),
            Event::Resolved(Resolution::Resend) => changed(self.anew(self.entry), Place::Tail),
            Event::Cancelled => self.cancelled(),
            Event::Approved
            | Event::Turn
            | Event::NotAdmitted { .. }
            | Event::Outcome(_)
            | Event::Abandoned
            | Event::EarlierPartFailed
            | Event::Replayed
            | Event::Discarded => Step::Unchanged(Why::NotNow),
        }
    }

    fn was_not_delivered(&self) -> Step {
        let certain = Entry { doubtful: false, first_attempt_at: None, looks: 0, ..self.entry };
        if certain.attempts >= certain.attempt_limit {
            return self.died(certain, Death::AttemptsExhausted);
        }
        self.again(certain, Duration::ZERO)
    }

    fn still_unknown(&self) -> Step {
        let looks = self.entry.looks.saturating_add(1);
        let entry = Entry { looks, ..self.entry };
        if looks < self.rules.max_looks {
            let due_at = Some(self.moment.now + self.rules.look_after);
            return changed(Entry { due_at, ..entry }, Place::Keeps);
        }
        match self.rules.on_unknown {
            // Bounded by the attempts, or a platform that never answers would be asked for ever.
            UnknownRule::Resend if entry.attempts < entry.attempt_limit => {
                let certain = Entry { doubtful: false, first_attempt_at: None, looks: 0, ..entry };
                self.again(certain, Duration::ZERO)
            }
            UnknownRule::Ask | UnknownRule::Resend => {
                changed(Entry { due_at: None, ..entry }, Place::Aside)
            }
            UnknownRule::Drop => self.cancelled(),
        }
    }

    /// The entry with the attempt under way counted.
    fn tried(&self) -> Entry {
        Entry { attempts: self.entry.attempts.saturating_add(1), ..self.entry }
    }

    fn backoff(&self, entry: &Entry) -> Duration {
        wait(self.rules.backoff, entry.attempts, self.chance)
    }

    /// Whether sending it now, once more, cannot make a second copy.
    fn may_repeat(&self, entry: &Entry) -> bool {
        match self.rules.repeat {
            Repeat::Never => false,
            Repeat::Always => true,
            // A clock that went backwards says nothing about how long ago it was.
            Repeat::Within(window) => entry.first_attempt_at.is_some_and(|first| {
                first <= self.moment.now && self.moment.now.since(first) < window
            }),
        }
    }

    fn again(&self, entry: Entry, wait: Duration) -> Step {
        // Without a doubt about an earlier attempt, the key is as good as new.
        let first_attempt_at = entry.first_attempt_at.filter(|_| entry.doubtful);
        let pending = Entry { state: OutboxState::Pending, first_attempt_at, ..entry };
        changed(self.waiting(pending, self.moment.now + wait), Place::Keeps)
    }

    /// Waits until then, or until it is too old if that is sooner.
    fn waiting(&self, entry: Entry, until: Timestamp) -> Entry {
        let expires = entry.expires_at.unwrap_or(Timestamp::MAX);
        let too_old = self.moment.now + expires.since(self.moment.connector);
        Entry { due_at: Some(until.min(too_old)), ..entry }
    }
}

/// How long the platform asked to wait, if it did: one that asks to wait for no time asks for nothing,
/// and would be asked again and again without a pause.
pub fn asked_to_wait(after: Option<Duration>) -> Option<Duration> {
    after.filter(|after| *after > Duration::ZERO)
}

pub(super) fn changed(entry: Entry, place: Place) -> Step {
    Step::Changed(Change { entry, place, death: None })
}

fn delivered(entry: Entry) -> Step {
    let entry = Entry { state: OutboxState::Delivered, due_at: None, ..entry };
    changed(entry, Place::Leaves)
}
