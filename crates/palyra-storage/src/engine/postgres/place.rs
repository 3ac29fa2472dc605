//! Where the server is, in words that hold neither user nor password, and whether it can be reached.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

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
    seen: Arc<Mutex<Seen>>,
}

/// What is known of a server.
#[derive(Default)]
struct Seen {
    away: bool,
    found_at: Option<Instant>,
}

impl Seen {
    /// Whether it is news that an attempt which began then has failed. One that began before the server
    /// was last found says nothing of how it is now.
    fn is_lost(&mut self, began: Instant) -> bool {
        let outdated = self.found_at.is_some_and(|found| began <= found);
        !outdated && !std::mem::replace(&mut self.away, true)
    }

    fn is_found(&mut self, now: Instant) -> bool {
        self.found_at = Some(now);
        std::mem::take(&mut self.away)
    }
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
        Self { name: names.join(", ").into(), seen: Arc::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The server could not be reached by an attempt that began then, and is tried again.
    pub(super) fn lost(&self, error: &StorageError, began: Instant) {
        if self.seen().is_lost(began) {
            tracing::warn!(code = %error.code(), error = %describe(error), server = %self.name,
                "Postgres cannot be reached, trying again");
        }
    }

    /// The server could be reached.
    pub(super) fn found(&self) {
        if self.seen().is_found(Instant::now()) {
            tracing::info!(server = %self.name, "Postgres can be reached again");
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
