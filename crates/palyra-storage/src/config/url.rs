//! The address of a database, which may hold a password.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::StorageError;
use crate::engine::postgres::connect::Dial;

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

    /// The parts that cannot be a password.
    fn shown(&self) -> String {
        let Ok(Some(server)) = self.server() else {
            return if self.is_empty() { String::new() } else { "***".into() };
        };
        let hosts: Vec<_> = server.get_hosts().iter().map(host).collect();
        let ports: Vec<_> = server.get_ports().iter().map(u16::to_string).collect();
        let user = server.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        let port = if ports.is_empty() { String::new() } else { format!(":{}", ports.join(",")) };
        let name = server.get_dbname().unwrap_or_default();
        format!("postgres://{user}{}{port}/{name}", hosts.join(","))
    }

    /// The server that it names; `None` means SQLite. An address that can never work is refused.
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
            Ok(config) => Dial::check(&config).map(|()| Some(config)),
            Err(error) => refuse(format!("storage.url: {}", crate::error::describe(&error))),
        }
    }
}

/// For people: without a password, wherever it stands in the text.
impl Serialize for StorageUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown())
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

fn host(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => folder.display().to_string(),
    }
}
