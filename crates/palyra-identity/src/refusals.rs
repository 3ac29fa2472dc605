//! Counting refusals. They are not rows: a stranger who guesses must not fill the disk.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use palyra_common::time::{Duration, Timestamp};

use crate::AuthError;

/// One line in the log for each kind and this long, however many there are.
const LOGGED_EVERY: Duration = Duration::from_secs(1);

/// What kind of credential was refused, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// A token or cookie that is not known.
    Invalid,
    /// A token or login whose time has passed.
    Expired,
    /// A token or login that was ended.
    Revoked,
    /// A change without the token that belongs to its cookie.
    Csrf,
    /// A login code that is not known.
    LinkUnknown,
    /// A login code that was used.
    LinkUsed,
    /// A login code that was too late.
    LinkExpired,
}

impl Refusal {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Invalid,
        Self::Expired,
        Self::Revoked,
        Self::Csrf,
        Self::LinkUnknown,
        Self::LinkUsed,
        Self::LinkExpired,
    ];

    /// The word for it in logs and figures.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Csrf => "csrf",
            Self::LinkUnknown => "link_unknown",
            Self::LinkUsed => "link_used",
            Self::LinkExpired => "link_expired",
        }
    }
}

/// Those who judge say why; those who are refused hear it as an error.
impl From<Refusal> for AuthError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid => AuthError::Invalid,
            Refusal::Expired => AuthError::Expired,
            Refusal::Revoked => AuthError::Revoked,
            Refusal::Csrf => AuthError::Csrf,
            Refusal::LinkUnknown => AuthError::LinkUnknown,
            Refusal::LinkUsed => AuthError::LinkUsed,
            Refusal::LinkExpired => AuthError::LinkExpired,
        }
    }
}

/// How often each kind happened since this process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusalCounts([u64; Refusal::ALL.len()]);

impl RefusalCounts {
    /// How often `refusal` happened.
    pub fn of(&self, refusal: Refusal) -> u64 {
        self.0[refusal as usize]
    }

    /// Every kind and how often it happened.
    pub fn iter(&self) -> impl Iterator<Item = (Refusal, u64)> {
        Refusal::ALL.into_iter().zip(self.0)
    }
}

#[derive(Default)]
pub(crate) struct Counters([Counter; Refusal::ALL.len()]);

struct Counter {
    total: AtomicU64,
    logged_at: AtomicI64,
}

impl Default for Counter {
    fn default() -> Self {
        let never = Timestamp::MIN.as_unix_millis();
        Self { total: AtomicU64::new(0), logged_at: AtomicI64::new(never) }
    }
}

impl Counters {
    /// Counts, and writes to the log unless it did so within the last second.
    pub(crate) fn note(&self, refusal: Refusal, now: Timestamp) {
        let counter = &self.0[refusal as usize];
        let total = counter.total.fetch_add(1, Ordering::Relaxed) + 1;
        if counter.may_log(now) {
            tracing::warn!(kind = refusal.as_str(), total, "a credential was refused");
        }
    }

    pub(crate) fn read(&self) -> RefusalCounts {
        RefusalCounts(self.0.each_ref().map(|counter| counter.total.load(Ordering::Relaxed)))
    }
}

impl Counter {
    /// Whether a second has passed since the last line. Of many at once one is told yes. A clock
    /// that went back counts as passed.
    fn may_log(&self, now: Timestamp) -> bool {
        let last = self.logged_at.load(Ordering::Relaxed);
        let at = Timestamp::from_unix_millis(last);
        if now >= at && now.since(at) < LOGGED_EVERY {
            return false;
        }
        let mine = now.as_unix_millis();
        let (ok, fail) = (Ordering::Relaxed, Ordering::Relaxed);
        self.logged_at.compare_exchange(last, mine, ok, fail).is_ok()
    }
}

#[cfg(test)]
mod tests;
