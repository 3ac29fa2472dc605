//! The machine's own clock and randomness. Everything above is told the time; here it is read.

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

/// A fresh id. Make it before the transaction and capture it: a unit that is run again must
/// mean the same row.
pub fn new_id<T: TypedId>() -> T {
    T::from_parts(SystemClock.now(), u128::from_ne_bytes(random()))
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
