use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

use super::Duration;

#[cfg(test)]
mod tests;

/// An instant: milliseconds since 1970-01-01T00:00:00Z, negative before it.
///
/// Stored and serialised as that integer; displayed as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Self = Self(0);
    /// The earliest value. Beyond what a calendar shows.
    pub const MIN: Self = Self(i64::MIN);
    /// The latest value. Beyond what a calendar shows.
    pub const MAX: Self = Self(i64::MAX);

    /// The instant `millis` milliseconds after the epoch.
    pub const fn from_unix_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn as_unix_millis(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is before it.
    pub const fn since(self, earlier: Self) -> Duration {
        if self.0 <= earlier.0 {
            Duration::ZERO
        } else {
            Duration::from_millis(self.0.abs_diff(earlier.0))
        }
    }
}

/// Saturates at [`Timestamp::MAX`].
impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add_unsigned(length.as_millis()))
    }
}

/// Saturates at [`Timestamp::MIN`].
impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, length: Duration) -> Self {
        Self(self.0.saturating_sub_unsigned(length.as_millis()))
    }
}

/// RFC 3339 in UTC with milliseconds. An instant outside the years -9999 to 9999, which RFC 3339
/// cannot write, is shown as its number of milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => write!(f, "{}ms after 1970-01-01T00:00:00Z", self.0),
        }
    }
}
