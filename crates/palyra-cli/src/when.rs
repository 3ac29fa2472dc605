//! Times as people give them.

use std::time::{SystemTime, UNIX_EPOCH};

use palyra_common::{Duration, Timestamp};

#[cfg(test)]
mod tests;

/// The time of this machine.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::UNIX_EPOCH + Duration::from(since)
}

/// A time for the name of a file: `20261115T235900.123Z`. To the millisecond, because two files may
/// be made in one second.
pub(crate) fn stamp(at: Timestamp) -> String {
    let seconds: String = at.to_string().chars().take_while(|c| !matches!(c, '.' | 'Z')).collect();
    let millis = at.as_unix_millis().rem_euclid(1_000);
    format!("{}.{millis:03}Z", seconds.replace(['-', ':'], ""))
}

/// A time as an argument: a moment, or how long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    At(Timestamp),
    Ago(Duration),
}

impl When {
    pub(crate) fn seen_from(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(length) => now - length,
        }
    }
}

impl std::str::FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(length) = text.parse() {
            return Ok(Self::Ago(length));
        }
        match text.parse::<jiff::Timestamp>() {
            Ok(at) => Ok(Self::At(Timestamp::from_unix_millis(at.as_millisecond()))),
            Err(_) => {
                Err("give a length such as 30m, 24h or 7d for how long ago, or a moment such \
                           as 2026-01-31T08:00:00Z"
                    .into())
            }
        }
    }
}
