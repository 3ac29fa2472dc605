//! Room for connections: how many are open at once, and which of them make room for others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

/// How long a connection that asks nothing keeps its place once all places are taken.
const GRACE: Duration = Duration::from_secs(1);

/// How often it is told that all places are taken, however often that happens.
const TELL_EVERY: Duration = Duration::from_mins(1);

/// The places of one door.
#[derive(Debug)]
pub(crate) struct Room {
    door: &'static str,
    option: &'static str,
    places: usize,
    permits: Arc<Semaphore>,
    full: watch::Sender<bool>,
    told_at: Mutex<Option<Instant>>,
}

impl Room {
    /// As many places at `door` as `option` says.
    pub(crate) fn new(door: &'static str, option: &'static str, places: usize) -> Self {
        let (permits, full) = (Arc::new(Semaphore::new(places)), watch::Sender::new(false));
        Self { door, option, places, permits, full, told_at: Mutex::default() }
    }

    /// A place, once there is one. Until then those who have one and ask nothing are asked for it.
    pub(crate) async fn enter(&self) -> Option<Place> {
        let permit = match self.permits.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                self.full.send_replace(true);
                self.tell(Instant::now());
                self.permits.clone().acquire_owned().await.ok()?
            }
        };
        self.full.send_replace(false);
        Some(Place { full: self.full.subscribe(), _permit: permit })
    }

    /// Tells that there is no room, unless that was told a moment ago. Says whether it did.
    fn tell(&self, now: Instant) -> bool {
        let mut told_at = self.told_at.lock().unwrap_or_else(PoisonError::into_inner);
        if told_at.is_some_and(|at| now.duration_since(at) < TELL_EVERY) {
            return false;
        }
        *told_at = Some(now);
        let (door, option, limit) = (self.door, self.option, self.places);
        tracing::warn!(
            door,
            option,
            limit,
            "as many connections are open as may be; others wait, and those that ask nothing end"
        );
        true
    }
}

/// The place of a connection, for as long as it lasts.
#[derive(Debug)]
pub(crate) struct Place {
    full: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// Returns when all places are taken and this connection, whose requests `asked` counts, has
    /// not begun one for a while.
    pub(crate) fn is_wanted(&self, asked: Arc<AtomicU64>) -> impl Future<Output = ()> + use<> {
        let mut full = self.full.clone();
        async move {
            loop {
                let before = asked.load(Ordering::Relaxed);
                tokio::time::sleep(GRACE).await;
                if full.wait_for(|full| *full).await.is_err() {
                    // The door is closed: nobody comes any more.
                    return std::future::pending().await;
                }
                if asked.load(Ordering::Relaxed) == before {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
