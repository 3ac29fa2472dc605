//! The queue that several threads take units from.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::unit::UnitOfWork;

/// One thread waits in the queue, the others for the lock.
#[derive(Clone)]
pub(crate) struct SharedQueue(Arc<Mutex<mpsc::Receiver<Box<dyn UnitOfWork>>>>);

impl SharedQueue {
    pub(crate) fn new(units: mpsc::Receiver<Box<dyn UnitOfWork>>) -> Self {
        Self(Arc::new(Mutex::new(units)))
    }

    /// The next unit that somebody waits for, or `None` when nobody can send one any more.
    pub(crate) fn take(&self) -> Option<Box<dyn UnitOfWork>> {
        loop {
            let unit = self.0.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv()?;
            if !unit.is_abandoned() {
                return Some(unit);
            }
        }
    }
}
