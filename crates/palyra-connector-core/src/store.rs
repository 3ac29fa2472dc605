//! One file per table: its statements and what its rows mean. Nothing else spells a column.

pub(crate) mod connector_events;
pub(crate) mod connector_resume;
pub(crate) mod connector_status;
pub(crate) mod connectors;
pub(crate) mod inbound_cursors;
pub(crate) mod inbound_events;
#[cfg_attr(test, macro_use)]
pub(crate) mod outbox;
#[cfg_attr(test, macro_use)]
pub(crate) mod outbox_lanes;

#[cfg(test)]
mod tests;

use palyra_storage::{Row, StorageError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value as it stands in a column.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, StorageError> {
    serde_json::to_string(value)
        .map_err(|error| StorageError::InvalidValue { what: error.to_string() })
}

/// A column that holds a JSON value.
pub(crate) fn from_json<T: DeserializeOwned>(
    row: &Row<'_>,
    index: usize,
) -> Result<T, StorageError> {
    from_text(&row.get::<String>(index)?)
}

/// The same, of a column that was read already.
pub(crate) fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, StorageError> {
    serde_json::from_str(text).map_err(|error| StorageError::InvalidValue {
        what: format!("a column holds other JSON than is needed: {error}"),
    })
}
