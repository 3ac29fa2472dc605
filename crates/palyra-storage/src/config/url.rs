//! The address of a database, which may hold a password.

use std::fmt;

use serde::Deserialize;
use tokio_postgres::Config;

use crate::StorageError;

/// `storage.url`: can be used, and never printed.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct StorageUrl(String);

impl StorageUrl {
    /// Whether there is none, which means SQLite.
    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// The text with its password, for whoever connects.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The server that it names; `None` means SQLite.
    pub(crate) fn server(&self) -> Result<Option<Config>, StorageError> {
        let refuse = |what: String| Err(StorageError::InvalidValue { what });
        let url = self.0.trim();
        if url.is_empty() {
            return Ok(None);
        }
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return refuse("storage.url starts with postgres:// or is empty for SQLite".into());
        }
        match url.parse() {
            Ok(config) => Ok(Some(config)),
            Err(error) => refuse(format!("storage.url: {}", crate::error::describe(&error))),
        }
    }
}

impl fmt::Debug for StorageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "\"\"" } else { "***" })
    }
}

impl From<String> for StorageUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}
