//! Where the server is, in words that hold neither user nor password, and whether it can be reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::StorageError;
use crate::error::describe;

const DEFAULT_PORT: u16 = 5432;

/// Refuses an address that can never work.
pub(super) fn check(config: &Config) -> Result<(), StorageError> {
    let refuse = |what: &str| Err(StorageError::InvalidValue { what: what.into() });
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return refuse("storage.url names no host: postgres://user@host/name");
    }
    match config.get_ssl_mode() {
        SslMode::Disable | SslMode::Prefer => Ok(()),
        _ => refuse(
            "storage.url asks for encryption (sslmode), which Palyra does not have: use a Unix \
             socket, this machine, a private network or a tunnel",
        ),
    }
}

/// A server, shared by all connections to it: what is told about it is told once.
#[derive(Clone)]
pub(crate) struct Place {
    name: Arc<str>,
    away: Arc<AtomicBool>,
}

impl Place {
    pub(super) fn of(config: &Config) -> Self {
        let ports = config.get_ports();
        let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(DEFAULT_PORT);
        let hosts = config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(folder) => folder.display().to_string(),
        });
        let mut hosts: Vec<String> = hosts.collect();
        if hosts.is_empty() {
            hosts = config.get_hostaddrs().iter().map(ToString::to_string).collect();
        }
        let names = hosts.iter().enumerate().map(|(at, host)| format!("{host}:{}", port(at)));
        let names: Vec<String> = names.collect();
        Self { name: names.join(", ").into(), away: Arc::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The server could not be reached, and is tried again.
    pub(super) fn lost(&self, error: &StorageError) {
        if !self.away.swap(true, Ordering::Relaxed) {
            tracing::warn!(code = %error.code(), error = %describe(error), server = %self.name,
                "Postgres cannot be reached, trying again");
        }
    }

    /// The server could be reached.
    pub(super) fn found(&self) {
        if self.away.swap(false, Ordering::Relaxed) {
            tracing::info!(server = %self.name, "Postgres can be reached again");
        }
    }
}
