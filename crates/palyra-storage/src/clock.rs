//! The machine's own clock and randomness. Everything above is told the time; here it is read.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use palyra_common::ids::TypedId;
use palyra_common::time::{Clock, Timestamp};

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_unix_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The parts of the newest id.
static NEWEST: Mutex<(Timestamp, u128)> = Mutex::new((Timestamp::MIN, 0));

/// A fresh id, behind every other that this process has made. Make it before the transaction and
/// capture it: a unit that is run again must mean the same row.
pub fn new_id<T: TypedId>() -> T {
    let now = SystemClock.now();
    let mut newest = NEWEST.lock().unwrap_or_else(PoisonError::into_inner);
    *newest = match *newest {
        (at, entropy) if now <= at => (at, entropy + 1),
        // A bit is left for those of the same millisecond.
        _ => (now, u128::from_ne_bytes(random()) >> (u128::BITS - 79)),
    };
    T::from_parts(newest.0, newest.1)
}

/// Random bytes from the operating system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes after boot");
    bytes
}

/// A number from 0 up to but not including 1.
pub(crate) fn fraction() -> f64 {
    f64::from(u32::from_ne_bytes(random())) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests;
