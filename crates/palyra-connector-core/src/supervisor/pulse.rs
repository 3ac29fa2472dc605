//! Whether a service itself works, whatever it looks after does.

use std::sync::{Arc, Mutex, PoisonError};

use palyra_common::time::{Duration, Timestamp};

/// Longer than anything that it waits for between two rounds.
const STANDS_STILL_AFTER: Duration = Duration::from_secs(60);

/// When a service has last begun a round. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pulse(Arc<Mutex<Timestamp>>);

impl Pulse {
    /// Of one that is about to run.
    pub fn new(now: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(now)))
    }

    /// A round begins.
    pub fn beat(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// The last round that was begun, or the beginning.
    pub fn last(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it still works at `now`: rounds are a few seconds apart at most.
    pub fn is_felt(&self, now: Timestamp) -> bool {
        now.since(self.last()) < STANDS_STILL_AFTER
    }
}
