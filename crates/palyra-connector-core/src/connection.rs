//! How the connection of an adapter is, by what the adapter reports.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_policy::connector::ContactFacts;
use serde::{Deserialize, Serialize};

/// How a connection is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuntimeSnapshot {
    /// Since when it has been connected.
    pub connected_since: Option<Timestamp>,
    /// When the platform last sent anything.
    pub last_event_at: Option<Timestamp>,
    /// When the platform last answered a heartbeat.
    pub last_ack_at: Option<Timestamp>,
    /// How long that took.
    pub ack_latency: Option<Duration>,
    /// How often it is to answer one; nothing: there are no heartbeats.
    pub acks_every: Option<Duration>,
    /// How often the connection was made anew.
    pub reconnects: u64,
    /// How often it was taken up again where it was lost.
    pub resumes: u64,
}

impl RuntimeSnapshot {
    /// What shows whether the platform is heard.
    pub fn contact_facts(&self) -> ContactFacts {
        let Self { connected_since, last_ack_at, acks_every, .. } = *self;
        ContactFacts { connected_since, last_ack_at, acks_every }
    }
}

/// How a connection came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connected {
    /// As a new one.
    Anew,
    /// Where an earlier one was lost: the platform sends what it had not sent.
    Resumed,
}

/// The connection of one adapter, from its start to its end.
pub(crate) struct Connection {
    clock: Arc<dyn Clock>,
    snapshot: Mutex<RuntimeSnapshot>,
}

impl Connection {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, snapshot: Mutex::default() }
    }

    pub(crate) fn snapshot(&self) -> RuntimeSnapshot {
        *self.lock()
    }

    pub(crate) fn connected(&self, how: Connected, acks_every: Option<Duration>) {
        let now = self.clock.now();
        let mut is = self.lock();
        match how {
            Connected::Resumed => is.resumes += 1,
            Connected::Anew if is.last_event_at.is_some() => is.reconnects += 1,
            Connected::Anew => {}
        }
        (is.connected_since, is.acks_every) = (Some(now), acks_every);
        is.last_event_at = Some(now);
    }

    pub(crate) fn disconnected(&self) {
        self.lock().connected_since = None;
    }

    pub(crate) fn heard(&self) {
        let now = self.clock.now();
        self.lock().last_event_at = Some(now);
    }

    pub(crate) fn acked(&self, latency: Duration) {
        let now = self.clock.now();
        let mut is = self.lock();
        (is.last_ack_at, is.ack_latency) = (Some(now), Some(latency));
    }

    fn lock(&self) -> MutexGuard<'_, RuntimeSnapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
