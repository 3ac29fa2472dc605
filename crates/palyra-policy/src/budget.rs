//! Budgets: reserved before a model is asked, settled after it has answered.

use palyra_common::agent::Cap;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Tokens and money, in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Amount {
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub micros: u64,
}

impl Amount {
    /// Both, added; at most the largest number.
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            micros: self.micros.saturating_add(other.micros),
        }
    }

    /// What is left when `other` is taken away; at least nothing.
    pub fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            micros: self.micros.saturating_sub(other.micros),
        }
    }
}

/// Whether `amount` stays within `cap`.
pub fn allows(cap: &Cap, amount: Amount) -> bool {
    cap.tokens.is_none_or(|most| amount.tokens <= most)
        && cap.micros.is_none_or(|most| amount.micros <= most)
}

/// What was used of a budget, and what is set aside of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Used.
    pub spent: Amount,
    /// Set aside for answers that are not there yet.
    pub reserved: Amount,
}

impl Account {
    /// Sets `amount` aside. Nothing: that would go beyond `cap`.
    pub fn reserve(self, amount: Amount, cap: &Cap) -> Option<Self> {
        let reserved = self.reserved.plus(amount);
        allows(cap, self.spent.plus(reserved)).then_some(Self { reserved, ..self })
    }

    /// What was set aside turns into what was used, which may be more than that: it was spent.
    pub fn settle(self, reserved: Amount, spent: Amount) -> Self {
        Self { spent: self.spent.plus(spent), reserved: self.reserved.minus(reserved) }
    }
}
