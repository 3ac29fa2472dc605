//! Whether this node has hands free, for those who bring work.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// What a node's worker offers: work that finds a hand free is committed as the worker's, which then
/// need not claim it. Cheap to clone.
///
/// It is a hint. Too much work waits for its worker; work of a worker that is gone is freed by others.
#[derive(Debug, Clone, Default)]
pub struct Hands(Arc<Offer>);

#[derive(Debug, Default)]
struct Offer {
    /// Tokens begin with 1.
    worker: AtomicI64,
    free: AtomicUsize,
}

impl Hands {
    /// The token of a worker that has a hand free, which is then taken until the worker looks.
    pub(crate) fn take(&self) -> Option<i64> {
        let worker = Some(self.0.worker.load(Ordering::SeqCst)).filter(|worker| *worker != 0)?;
        let less = |free: usize| free.checked_sub(1);
        self.0.free.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).ok()?;
        Some(worker)
    }

    /// A hand is free again, before the worker has looked.
    pub(super) fn give_back(&self) {
        self.0.free.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn offer(&self, worker: i64, free: usize) {
        self.0.free.store(free, Ordering::SeqCst);
        self.0.worker.store(worker, Ordering::SeqCst);
    }

    pub(super) fn withdraw(&self) {
        self.0.worker.store(0, Ordering::SeqCst);
    }
}
