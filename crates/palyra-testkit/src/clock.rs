//! Time that stands still until a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use palyra_common::time::{Clock, Duration, Timestamp};

/// A clock that shows what the test says. Clones show the same time.
#[derive(Clone, Debug)]
pub struct FakeClock {
    unix_millis: Arc<AtomicI64>,
}

impl FakeClock {
    /// A clock that shows `now`.
    pub fn new(now: Timestamp) -> Self {
        Self { unix_millis: Arc::new(AtomicI64::new(now.as_unix_millis())) }
    }

    /// Moves the clock forward and returns what it shows then.
    pub fn advance(&self, by: Duration) -> Timestamp {
        let forward = |millis| (Timestamp::from_unix_millis(millis) + by).as_unix_millis();
        self.unix_millis.update(Ordering::SeqCst, Ordering::SeqCst, forward);
        self.now()
    }

    /// Makes the clock show `now`, which may be earlier than before: wall clocks do that.
    pub fn set(&self, now: Timestamp) {
        self.unix_millis.store(now.as_unix_millis(), Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.unix_millis.load(Ordering::SeqCst))
    }
}
