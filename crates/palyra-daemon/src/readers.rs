//! Those who read events as they happen, over HTTP and over gRPC, however many they are.
//!
//! One task looks for all of them: whether a credential still counts is asked once however many read
//! with it, how far the event feed goes once, and all are told together when it is time for a sign of
//! life. A reader waits to be told, and has no timer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use palyra_common::ids::Credential;
use palyra_common::runtime_contracts::Scope;
use palyra_identity::{Access, AuthError};
use palyra_storage::{StorageError, describe, events};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;
use crate::transport::http::{Answer, Refusal, Slot, Slots};

/// How often it is looked whether credentials still count: as soon as a revocation is to.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the feed is looked at without having been told: with each look of so many.
const FEED_EVERY: u64 = 5;
/// How often something is sent where nothing happens, so that either side notices that the other has
/// gone.
const BREATHE_EVERY: Duration = Duration::from_secs(15);

/// What a credential allows now.
type Standing = Result<Access, AuthError>;

/// All who read.
pub(crate) struct Readers {
    slots: Slots,
    credentials: Mutex<HashMap<Credential, watch::Sender<Standing>>>,
    breath: watch::Sender<()>,
    newest: watch::Sender<i64>,
    /// Whether it was told that credentials cannot be looked at.
    is_blind: AtomicBool,
}

/// Who is asked for all of them.
pub(crate) trait Look {
    /// What a credential allows by now.
    async fn again(&self, access: &Access) -> Standing;

    /// The newest event of the feed.
    async fn newest(&self) -> Result<i64, StorageError>;
}

impl Look for App {
    async fn again(&self, access: &Access) -> Standing {
        self.identity.look_again(access).await
    }

    async fn newest(&self) -> Result<i64, StorageError> {
        events::newest(&self.db).await
    }
}

impl Readers {
    /// As many at once as `slots` has for each principal.
    pub(crate) fn new(slots: Slots) -> Self {
        let (breath, newest) = (watch::Sender::new(()), watch::Sender::new(0));
        Self {
            slots,
            credentials: Mutex::default(),
            breath,
            newest,
            is_blind: AtomicBool::new(false),
        }
    }

    /// Lets somebody read for as long as their credential has `scope`.
    pub(crate) fn enter(&self, access: &Access, scope: Scope) -> Answer<Reading> {
        let slot = self.slots.take(access)?;
        let standing = match access.credential {
            Credential::LocalOwner => None,
            credential @ (Credential::Token(_) | Credential::Login(_)) => {
                let mut all = self.credentials();
                let new = || watch::Sender::new(Ok(access.clone()));
                Some(all.entry(credential).or_insert_with(new).subscribe())
            }
        };
        Ok(Reading { scope, standing, breath: self.breath.subscribe(), _slot: slot })
    }

    /// Changes when there may be more in the feed.
    pub(crate) fn newest(&self) -> watch::Receiver<i64> {
        self.newest.subscribe()
    }

    /// Looks for all who read. Never returns.
    pub(crate) async fn look_after(&self, look: &impl Look) {
        let breathe = async {
            let mut breaths = every(BREATHE_EVERY);
            loop {
                breaths.tick().await;
                self.breath.send_replace(());
            }
        };
        let look = async {
            let mut looks = every(LOOK_EVERY);
            for count in 0.. {
                looks.tick().await;
                self.look_at_credentials(look).await;
                if count % FEED_EVERY == 0 && self.newest.receiver_count() > 0 {
                    self.look_at_feed(look).await;
                }
            }
        };
        // Whoever waits for the database does not keep others from breathing.
        futures_util::future::join(breathe, look).await;
    }

    async fn look_at_credentials(&self, look: &impl Look) {
        for access in self.in_use() {
            let now = look.again(&access).await;
            if self.keeps_standing(&now) {
                continue;
            }
            let mut all = self.credentials();
            let Some(standing) = all.get(&access.credential) else { continue };
            let has_ended = now.is_err();
            standing.send_if_modified(|was| {
                let is_new = !matches!((&*was, &now), (Ok(was), Ok(now)) if was == now);
                *was = now;
                is_new
            });
            // Those who read with it are told; whoever comes back is asked for another one.
            if has_ended {
                all.remove(&access.credential);
            }
        }
    }

    /// Whether a look has found nothing out, for now: what was seen last counts until the next one.
    fn keeps_standing(&self, now: &Standing) -> bool {
        let error = match now {
            Err(AuthError::Storage(error)) if error.code().retryable() => error,
            Ok(_) | Err(_) => {
                self.is_blind.store(false, Ordering::Relaxed);
                return false;
            }
        };
        if !self.is_blind.swap(true, Ordering::Relaxed) {
            let error = describe(error);
            tracing::warn!(%error, "credentials of readers could not be looked at; tried again");
        }
        true
    }

    /// What somebody reads with, as it was last seen.
    fn in_use(&self) -> Vec<Access> {
        let mut all = self.credentials();
        all.retain(|_, standing| standing.receiver_count() > 0);
        all.values().filter_map(|standing| standing.borrow().clone().ok()).collect()
    }

    async fn look_at_feed(&self, look: &impl Look) {
        match look.newest().await {
            Ok(found) => {
                self.newest.send_if_modified(|newest| {
                    let is_more = found > *newest;
                    *newest = found;
                    is_more
                });
            }
            Err(error) => tracing::warn!(%error, "the event feed could not be looked at"),
        }
    }

    fn credentials(&self) -> MutexGuard<'_, HashMap<Credential, watch::Sender<Standing>>> {
        self.credentials.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first one is at once.
    ticks.reset();
    ticks
}

/// One who reads, until it is dropped.
pub(crate) struct Reading {
    scope: Scope,
    /// Nothing: whoever runs the daemon may read as long as it is there.
    standing: Option<watch::Receiver<Standing>>,
    breath: watch::Receiver<()>,
    _slot: Option<Slot>,
}

/// What a reader is told.
pub(crate) enum Told {
    /// It is time for a sign of life.
    Breathe,
    /// The credential does not count any more, or not for this.
    Refused(Refusal),
}

impl Reading {
    /// What there is to be told, once there is something. Cancel safe.
    pub(crate) async fn told(&mut self) -> Told {
        let (scope, standing) = (self.scope, &mut self.standing);
        let refused = async {
            let Some(standing) = standing else { return std::future::pending().await };
            loop {
                if let Err(refusal) = allowed(&standing.borrow_and_update(), scope) {
                    return refusal;
                }
                if standing.changed().await.is_err() {
                    return std::future::pending().await;
                }
            }
        };
        tokio::select! {
            refusal = refused => Told::Refused(refusal),
            Ok(()) = self.breath.changed() => Told::Breathe,
        }
    }
}

fn allowed(standing: &Standing, scope: Scope) -> Answer<()> {
    let access = standing.as_ref().map_err(|error| Refusal::from(error.envelope()))?;
    Ok(access.require(scope)?)
}

#[cfg(test)]
mod tests;
