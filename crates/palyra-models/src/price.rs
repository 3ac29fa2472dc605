//! What an answer costs, in whole numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::request::{ModelRequest, Usage};
use crate::tokens::count_request;

#[cfg(test)]
mod tests;

const TOKENS_OF_A_PRICE: u128 = 1_000_000;

/// Millionths of a US dollar.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// The sum, or the largest value if that is too much.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// In dollars, with all digits.
impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// What a million tokens cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// To be read.
    pub input: MicroUsd,
    /// To be read from the provider's cache.
    pub cached_input: MicroUsd,
    /// To be written.
    pub output: MicroUsd,
}

/// What an answer cost, rounded up; the largest value if it is more than that.
pub fn cost(usage: Usage, price: Price) -> MicroUsd {
    let cached = usage.cached_input_tokens.min(usage.input_tokens);
    let read = usage.input_tokens - cached;
    let parts =
        [(read, price.input), (cached, price.cached_input), (usage.output_tokens, price.output)];
    let sum = parts.into_iter().try_fold(0_u128, |sum, (tokens, price)| {
        sum.checked_add(u128::from(tokens) * u128::from(price.0))
    });
    let micros = sum.map(|sum| sum.div_ceil(TOKENS_OF_A_PRICE));
    MicroUsd(micros.and_then(|micros| u64::try_from(micros).ok()).unwrap_or(u64::MAX))
}

/// What a request can cost at most, to be set aside before it is made: all of it is read without a
/// cache, and the answer is as long as it may be. Models count tokens differently, so that a quarter
/// is added to ours.
pub(crate) fn worst_cost(request: &ModelRequest, price: Price, max_output: u32) -> MicroUsd {
    // Without a price there is nothing to count.
    if price == Price::default() {
        return MicroUsd::default();
    }
    let counted = count_request(request);
    let usage = Usage {
        input_tokens: counted.saturating_add(counted.div_ceil(4)),
        output_tokens: request.max_output_tokens.min(max_output).into(),
        cached_input_tokens: 0,
    };
    let dearest = price.input.max(price.cached_input);
    cost(usage, Price { input: dearest, ..price })
}
