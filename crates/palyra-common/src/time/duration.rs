use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::serde_text;

#[cfg(test)]
mod tests;

/// Units from the largest to the smallest, with their length in milliseconds.
const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// A length of time in whole milliseconds, never negative.
///
/// People write and read it as a number and a unit (`1500ms`, `10s`, `15m`, `24h`, `7d`), and it
/// is serialised that way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest value.
    pub const MAX: Self = Self(u64::MAX);

    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// `secs` seconds, or [`Duration::MAX`] if that is too many.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000))
    }

    /// `mins` minutes, or [`Duration::MAX`] if that is too many.
    pub const fn from_mins(mins: u64) -> Self {
        Self(mins.saturating_mul(60_000))
    }

    /// `hours` hours, or [`Duration::MAX`] if that is too many.
    pub const fn from_hours(hours: u64) -> Self {
        Self(hours.saturating_mul(3_600_000))
    }

    /// `days` days of 24 hours, or [`Duration::MAX`] if that is too many.
    pub const fn from_days(days: u64) -> Self {
        Self(days.saturating_mul(86_400_000))
    }

    /// Whole milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

/// Shown in the largest unit that holds it exactly, so that nothing is rounded away.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = UNITS.iter().find(|(_, millis)| self.0.is_multiple_of(*millis));
        match exact {
            Some((unit, millis)) if self.0 > 0 => write!(f, "{}{unit}", self.0 / millis),
            Some(_) | None => f.write_str("0s"),
        }
    }
}

/// Why a text is not a [`Duration`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DurationParseError {
    /// It does not begin with a digit: empty, signed, or only a unit.
    #[error("a duration begins with a whole number, as in 10s")]
    NoNumber,
    /// What follows the number is not one of the units.
    #[error("a duration ends in one unit, ms, s, m, h or d, as in 15m")]
    UnknownUnit,
    /// More milliseconds than the type holds.
    #[error("the duration is too long")]
    TooLong,
}

impl FromStr for Duration {
    type Err = DurationParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        if number.is_empty() {
            return Err(DurationParseError::NoNumber);
        }
        let (_, millis) =
            UNITS.iter().find(|(name, _)| *name == unit).ok_or(DurationParseError::UnknownUnit)?;
        number
            .parse::<u64>()
            .ok()
            .and_then(|count| count.checked_mul(*millis))
            .map(Self)
            .ok_or(DurationParseError::TooLong)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_text::deserialize(deserializer, "a duration such as 10s, 15m or 7d")
    }
}

impl From<Duration> for std::time::Duration {
    fn from(length: Duration) -> Self {
        Self::from_millis(length.0)
    }
}

/// Drops what is below a millisecond; saturates at [`Duration::MAX`].
impl From<std::time::Duration> for Duration {
    fn from(length: std::time::Duration) -> Self {
        Self(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
    }
}
