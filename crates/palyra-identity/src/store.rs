//! One file per table: its statements and what its rows mean. Nothing else spells a column.

use palyra_storage::{Row, StorageError};

use crate::{Credential, ScopeSet};

pub(crate) mod api_tokens;
pub(crate) mod console_logins;
pub(crate) mod lineage;
pub(crate) mod login_codes;
pub(crate) mod principals;

/// The cursor before the newest: behind every ULID.
pub(crate) const NEWEST: &str = "~";

/// A column that holds what a credential was made with.
fn maker(row: &Row<'_>, index: usize) -> Result<Option<Credential>, StorageError> {
    let text: Option<String> = row.get(index)?;
    text.map(|_| row.parse(index)).transpose()
}

/// A column that holds scopes, or nothing where the role decides.
fn scopes(row: &Row<'_>, index: usize) -> Result<Option<ScopeSet>, StorageError> {
    let text: Option<String> = row.get(index)?;
    text.as_deref().map(ScopeSet::from_json).transpose()
}
