//! Entries at their end, and those that are brought back.

use palyra_common::runtime_contracts::OutboxState;

use super::Context;
use super::open::changed;
use super::vocabulary::{Change, Death, Entry, Event, Place, Step, Why};

impl Context<'_> {
    pub(super) fn dead(&self, event: Event) -> Step {
        match event {
            Event::Replayed => changed(self.anew(self.entry), Place::Tail),
            Event::Discarded | Event::Cancelled => self.cancelled(),
            Event::Approved
            | Event::Turn
            | Event::NotAdmitted { .. }
            | Event::Outcome(_)
            | Event::Abandoned
            | Event::Reconciled(_)
            | Event::Resolved(_)
            | Event::EarlierPartFailed => Step::Unchanged(Why::NotNow),
        }
    }

    /// It will not be sent, unless some attempt is in doubt: then nobody can say that it was not.
    pub(super) fn died(&self, entry: Entry, death: Death) -> Step {
        if entry.doubtful {
            return self.in_doubt(entry);
        }
        let entry = Entry { state: OutboxState::Dead, due_at: None, ..entry };
        Step::Changed(Change { entry, place: Place::Leaves, death: Some(death) })
    }

    /// The platform is asked after a while, by when the request has arrived if it ever does.
    pub(super) fn in_doubt(&self, entry: Entry) -> Step {
        let due_at = Some(self.moment.now + self.rules.look_after);
        let entry = Entry { state: OutboxState::Unknown, looks: 0, due_at, ..entry };
        changed(entry, Place::Keeps)
    }

    pub(super) fn cancelled(&self) -> Step {
        let entry = Entry { state: OutboxState::Cancelled, due_at: None, ..self.entry };
        changed(entry, Place::Leaves)
    }

    /// To be sent because a human said so: with all tries ahead of it, and as if just written.
    pub(super) fn anew(&self, entry: Entry) -> Entry {
        Entry {
            attempts: entry.attempts,
            attempt_limit: entry.attempts.saturating_add(self.rules.max_attempts),
            ..Entry::pending(self.rules, self.moment)
        }
    }
}
