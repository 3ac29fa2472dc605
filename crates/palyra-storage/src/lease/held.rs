//! Which leases somebody in this process really holds.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::Lease;

/// The rows say what this node has taken; this says what it knows of. A row that it does not know
/// of (its taker stopped waiting, or giving it back failed) would be renewed for ever and its work
/// never done again.
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    held: BTreeSet<Lease>,
    /// Unknown at the last renewal. Unknown once can mean that it has just been taken.
    strange: BTreeSet<Lease>,
}

impl Held {
    pub(crate) fn insert(&self, lease: Lease) {
        self.known(|known| known.held.insert(lease));
    }

    pub(crate) fn remove(&self, lease: &Lease) {
        self.known(|known| known.held.remove(lease));
    }

    pub(crate) fn contains(&self, lease: &Lease) -> bool {
        self.known(|known| known.held.contains(lease))
    }

    /// What is held, to be asked for before a renewal begins and handed to [`Held::compare`].
    pub(crate) fn before_renewal(&self) -> BTreeSet<Lease> {
        self.known(|known| known.held.clone())
    }

    /// Compares with what was renewed. Returns what is held, and what nobody has known of for two
    /// renewals. What was taken since the renewal began says nothing by being missing from it.
    pub(crate) fn compare(
        &self,
        before: &BTreeSet<Lease>,
        renewed: Vec<Lease>,
    ) -> (Vec<Lease>, Vec<Lease>) {
        let renewed: BTreeSet<Lease> = renewed.into_iter().collect();
        self.known(|known| {
            known.held.retain(|lease| !before.contains(lease) || renewed.contains(lease));
            let strange: BTreeSet<Lease> = renewed.difference(&known.held).cloned().collect();
            let forgotten = strange.intersection(&known.strange).cloned().collect();
            known.strange = strange;
            (known.held.iter().cloned().collect(), forgotten)
        })
    }

    fn known<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
