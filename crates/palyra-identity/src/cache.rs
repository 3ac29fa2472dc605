//! What was last read of credentials in use, for a moment.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use palyra_common::time::{Duration, Timestamp};
use palyra_storage::Subscription;

use crate::secret::Digest;
use crate::standing::Standing;

/// Which table a secret is looked up in. A token's secret is no cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Token,
    Login,
}

pub(crate) type Key = (Kind, Digest);

/// Bounded in number and in age. Everything is dropped when credentials were ended anywhere; the
/// age is there for when that notice is lost.
pub(crate) struct Cache {
    state: Mutex<State>,
    limit: usize,
    lives: Duration,
}

struct State {
    news: Subscription,
    generation: u64,
    entries: HashMap<Key, Entry>,
}

struct Entry {
    standing: Standing,
    read_at: Timestamp,
}

/// What the cache says.
pub(crate) enum Looked {
    Hit(Standing),
    /// Not there. What is read now may be kept under this generation.
    Miss(u64),
}

impl Cache {
    pub(crate) fn new(news: Subscription, limit: usize, lives: Duration) -> Self {
        let state = State { news, generation: 0, entries: HashMap::new() };
        Self { state: Mutex::new(state), limit, lives }
    }

    pub(crate) fn look(&self, key: &Key, now: Timestamp) -> Looked {
        let state = self.current();
        match state.entries.get(key) {
            Some(entry) if self.is_fresh(entry, now) => Looked::Hit(entry.standing.clone()),
            Some(_) | None => Looked::Miss(state.generation),
        }
    }

    /// Keeps what was read at `read_at`, unless something was ended since the look that led to it.
    pub(crate) fn keep(&self, generation: u64, key: Key, standing: Standing, read_at: Timestamp) {
        let mut state = self.current();
        if state.generation != generation {
            return;
        }
        if state.entries.len() >= self.limit && !state.entries.contains_key(&key) {
            state.entries.retain(|_, entry| self.is_fresh(entry, read_at));
            if state.entries.len() >= self.limit {
                state.entries.clear();
            }
        }
        state.entries.insert(key, Entry { standing, read_at });
    }

    /// For the node on which something was ended: its own caller need not wait for the notice.
    pub(crate) fn forget(&self) {
        self.current().forget();
    }

    /// A clock that went back makes an entry old, not young.
    fn is_fresh(&self, entry: &Entry, now: Timestamp) -> bool {
        now >= entry.read_at && now.since(entry.read_at) < self.lives
    }

    fn current(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.news.take_change() {
            state.forget();
        }
        state
    }
}

impl State {
    fn forget(&mut self) {
        self.generation += 1;
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests;
