//! Telling those who wait that something has changed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

/// What a change is about. A topic says only *look again*; what changed is in the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Topic(&'static str);

impl Topic {
    /// Names a topic. The name is the same on every node.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

/// Waits for changes of one topic. Changes between two waits count as one.
#[derive(Debug, Clone)]
pub struct Subscription(watch::Receiver<u64>);

impl Subscription {
    /// Returns at the next change, at once if there was one since the last call. Cancel safe.
    ///
    /// A wake-up can be missed (another node dies between its commit and its notice), so a
    /// worker also looks by itself now and then.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            // The database was closed: nothing will change any more.
            std::future::pending::<()>().await;
        }
    }

    /// Whether there was a change since the last look, without waiting. After the database was
    /// closed always: what was remembered of it is worth nothing any more.
    pub fn take_change(&mut self) -> bool {
        let changed = self.0.has_changed().unwrap_or(true);
        // Whoever is told looks at the rows after this, so a change that comes between is seen.
        self.0.mark_unchanged();
        changed
    }
}

/// The subscribers of this process.
#[derive(Debug, Default)]
pub(crate) struct Bell(Mutex<HashMap<&'static str, watch::Sender<u64>>>);

impl Bell {
    pub(crate) fn subscribe(&self, topic: Topic) -> Subscription {
        let mut topics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Subscription(topics.entry(topic.0).or_insert_with(|| watch::channel(0).0).subscribe())
    }

    pub(crate) fn ring(&self, topic: &str) {
        let topics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = topics.get(topic) {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// For when notices may have been missed.
    pub(crate) fn ring_all(&self) {
        for sender in self.0.lock().unwrap_or_else(PoisonError::into_inner).values() {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}
