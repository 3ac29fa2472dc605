//! How long to wait before the next try.
//!
//! Exponential, with full jitter: the wait is anything up to a bound that doubles with each failure,
//! so that those who failed together do not come back together.

use palyra_common::queue::Backoff;
use palyra_common::time::Duration;

#[cfg(test)]
mod tests;

/// A number drawn by the caller, every value as likely as any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chance(pub u64);

/// The wait after this many failures in a row.
pub fn wait(backoff: Backoff, failures: u32, chance: Chance) -> Duration {
    let bound = u128::from(bound(backoff, failures).as_millis());
    // The high half of the product is even over 0..=bound, where a remainder would not be.
    let millis = (u128::from(chance.0) * (bound + 1)) >> 64;
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// The longest wait after this many failures in a row.
pub fn bound(backoff: Backoff, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1);
    let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
    let grown = backoff.base.as_millis().saturating_mul(factor);
    backoff.cap.min(Duration::from_millis(grown))
}
