//! One file per table: its statements and what its rows mean.

pub(crate) mod agents;
pub(crate) mod budgets;
pub(crate) mod router_rules;
pub(crate) mod run_signals;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod surfaces;
pub(crate) mod tape;

use palyra_storage::StorageError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value as it stands in a column.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, StorageError> {
    serde_json::to_string(value)
        .map_err(|error| StorageError::InvalidValue { what: error.to_string() })
}

/// The value that stands in a column.
pub(crate) fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, StorageError> {
    serde_json::from_str(text).map_err(|error| StorageError::InvalidValue {
        what: format!("a column holds other JSON than is needed: {error}"),
    })
}
