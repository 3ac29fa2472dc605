//! Postgres: a pool of connections, each on a thread of its own, one transaction per unit.

pub(crate) mod connect;
pub(crate) mod doorbell;
pub(crate) mod export;
mod fault;
pub(crate) mod load;
mod marks;
pub(crate) mod migrate;
mod place;
mod statements;
pub(crate) mod version;
pub(crate) mod worker;

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::StorageError;

/// Each connection is driven by the thread that uses it, so a statement costs no hop between
/// threads.
pub(crate) fn runtime() -> Result<Runtime, StorageError> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|error| StorageError::Unavailable(Arc::new(error)))
}
