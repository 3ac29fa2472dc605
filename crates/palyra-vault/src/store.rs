//! One file per table: its statements and what its rows mean. Nothing else spells a column.

pub(crate) mod secrets;
pub(crate) mod vault_keys;
