//! Chance that can be repeated.

use std::ops::Range;
use std::time::Duration;

use anyhow::Context;

use crate::entropy;

/// The variable that asks for the long versions of tests.
const CHAOS_VARIABLE: &str = "PALYRA_CHAOS";

/// The number from which all of a test's random choices follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// The seed in the variable `name`, or a new one; it is printed, with how to repeat it.
    #[expect(clippy::print_stderr, reason = "a failing randomised test shows its seed")]
    pub fn from_env_or_random(name: &str) -> anyhow::Result<Self> {
        let seed = match std::env::var(name) {
            Ok(text) => Self::parse(&text).with_context(|| format!("read the seed in {name}"))?,
            Err(_) => Self(entropy::bits()),
        };
        eprintln!("seed: {name}={}", seed.0);
        Ok(seed)
    }

    /// A fixed seed.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The number.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The choices that follow from this seed.
    pub const fn rng(self) -> Rng {
        Rng { state: self.0 }
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        text.trim().parse().map(Self).with_context(|| format!("{text:?} is no unsigned number"))
    }
}

/// A small deterministic generator (SplitMix64): good enough to choose moments and values, and the
/// same on every machine.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number of `range`; its start when the range is empty.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        let width = range.end.saturating_sub(range.start).max(1);
        range.start + self.next_u64() % width
    }

    /// A length of time of `range`, to the microsecond.
    pub fn duration(&mut self, range: Range<Duration>) -> Duration {
        let micros = |length: Duration| u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.within(micros(range.start)..micros(range.end)))
    }

    /// True with the given probability between 0 and 1.
    pub fn chance(&mut self, probability: f64) -> bool {
        // 53 bits are what an f64 between 0 and 1 can tell apart.
        let unit = (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        unit < probability
    }
}

/// How many rounds a randomised test plays: `normal`, or `chaos` when `PALYRA_CHAOS` is set to
/// anything but nothing or `0`.
pub fn rounds(normal: u32, chaos: u32) -> u32 {
    let asked = std::env::var(CHAOS_VARIABLE);
    if asked.is_ok_and(|value| !matches!(value.trim(), "" | "0")) { chaos } else { normal }
}

#[cfg(test)]
mod tests;
