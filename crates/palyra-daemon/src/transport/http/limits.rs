//! How often one credential may ask.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use palyra_common::ErrorCode;
use palyra_common::time::{Duration, Timestamp};
use palyra_identity::{Access, Credential};

use super::refusal::{Answer, Refusal};

/// Credentials that are remembered. Whoever is forgotten starts with a full bucket.
const REMEMBERED: usize = 4_096;

const MINUTE: Duration = Duration::from_mins(1);

/// A bucket per credential: it fills with the rate and holds two seconds' worth.
#[derive(Debug)]
pub(crate) struct Rates {
    per_second: f64,
    buckets: Mutex<HashMap<Credential, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Rates {
    /// 0: any number.
    pub(crate) fn new(per_second: u32) -> Self {
        Self { per_second: f64::from(per_second), buckets: Mutex::default() }
    }

    pub(crate) fn admit(&self, access: &Access) -> Answer<()> {
        if self.per_second == 0.0 || access.credential == Credential::LocalOwner {
            return Ok(());
        }
        if self.take(access.credential, Instant::now()) {
            return Ok(());
        }
        let what = format!("more than {} requests per second", self.per_second);
        Err(Refusal::new(ErrorCode::HttpBusy, what))
    }

    fn take(&self, credential: Credential, now: Instant) -> bool {
        let full = self.per_second * 2.0;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= REMEMBERED && !buckets.contains_key(&credential) {
            buckets.clear();
        }
        let bucket = buckets.entry(credential).or_insert(Bucket { tokens: full, at: now });
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        let tokens = (bucket.tokens + since * self.per_second).min(full);
        let taken = tokens >= 1.0;
        *bucket = Bucket { tokens: if taken { tokens - 1.0 } else { tokens }, at: now };
        taken
    }
}

/// At most so many of something from one credential in a minute, on this node. It bounds what one login
/// can write; what all of them can is bounded by retention, so the count is kept in memory, and a restart
/// begins a new minute.
#[derive(Debug)]
pub(crate) struct PerMinute {
    most: u32,
    what: &'static str,
    minutes: Mutex<HashMap<Credential, Minute>>,
}

#[derive(Debug, Clone, Copy)]
struct Minute {
    began: Timestamp,
    count: u32,
}

impl Minute {
    /// A clock that was set back begins a new one.
    fn has(&self, now: Timestamp) -> bool {
        now >= self.began && now < self.began + MINUTE
    }
}

impl PerMinute {
    pub(crate) fn new(most: u32, what: &'static str) -> Self {
        Self { most, what, minutes: Mutex::default() }
    }

    pub(crate) fn admit(&self, credential: Credential, now: Timestamp) -> Answer<()> {
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        if minutes.len() >= REMEMBERED && !minutes.contains_key(&credential) {
            minutes.retain(|_, minute| minute.has(now));
            if minutes.len() >= REMEMBERED {
                minutes.clear();
            }
        }
        let minute = minutes.entry(credential).or_insert(Minute { began: now, count: 0 });
        if !minute.has(now) {
            *minute = Minute { began: now, count: 0 };
        }
        if minute.count >= self.most {
            let what = format!("more than {} {} in a minute", self.most, self.what);
            return Err(Refusal::new(ErrorCode::HttpBusy, what));
        }
        minute.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
