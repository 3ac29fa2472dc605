//! `echo`: a platform on this machine. What is sent to it is written to a ledger, and it can be told
//! to fail in every way in which a platform fails.

mod faults;
mod ledger;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_connector_core::{
    AdapterContext, Admission, Capabilities, Connector, ConnectorAdapter, End, Found, Operation,
    Permit, Report, RuntimeSnapshot, Stored, Waiting,
};
use palyra_policy::outbox::{Reconciled, Repeat};
use palyra_storage::crash_point;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

pub use faults::{Fault, Faults};
pub use ledger::Line;

use ledger::Ledger;

/// The kind of this connector.
pub const KIND: &str = "echo";

/// What an operator chooses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EchoSettings {
    /// The name of the file that keeps what was sent, one JSON object to a line. It is in the
    /// daemon's own folder, wherever that is: whoever may set this may not choose where to write.
    /// Nothing: it is kept in memory, as much of it as is shown.
    pub ledger: Option<String>,
    /// Whether the same message twice is one.
    pub deduplicate: bool,
    /// For how long the platform remembers a message when it deduplicates.
    pub remembers_for: Duration,
    /// Whether it can be asked what became of a message.
    pub tells_history: bool,
    /// How it fails.
    pub faults: Faults,
}

impl Default for EchoSettings {
    fn default() -> Self {
        Self {
            ledger: None,
            deduplicate: true,
            remembers_for: Duration::from_mins(1),
            tells_history: true,
            faults: Faults::default(),
        }
    }
}

/// The settings, if they make sense.
pub(crate) fn settings(settings: &Value) -> Result<EchoSettings, String> {
    let settings = serde_json::from_value::<EchoSettings>(settings.clone());
    let settings = settings.map_err(|error| format!("the settings cannot be used: {error}"))?;
    let plain = |name: &String| {
        let good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        (1..=64).contains(&name.len()) && name.chars().all(good) && !name.starts_with('.')
    };
    match settings.ledger.as_ref().is_none_or(plain) {
        true => Ok(settings),
        false => Err("ledger is the name of a file: up to 64 letters, digits and ._-".to_owned()),
    }
}

/// The adapter of an echo connector, whose ledger is in `folder`.
pub(crate) fn build(
    connector: &Connector,
    clock: Arc<dyn Clock>,
    folder: &Path,
) -> Result<Arc<dyn ConnectorAdapter>, String> {
    let settings = settings(&connector.settings)?;
    let path = settings.ledger.as_ref().map(|name| folder.join(name));
    let opened = match &path {
        Some(_) => std::fs::create_dir_all(folder).and_then(|()| Ledger::open(path.as_deref())),
        None => Ledger::open(None),
    };
    let ledger = opened.map_err(|error| format!("the ledger cannot be opened: {error}"))?;
    let (ledger, requests) = (Mutex::new(ledger), AtomicU64::new(0));
    let connected_since = Mutex::new(None);
    Ok(Arc::new(Echo { settings, ledger, requests, clock, connected_since }))
}

struct Echo {
    settings: EchoSettings,
    ledger: Mutex<Ledger>,
    /// How many requests have come in, by which faults are chosen.
    requests: AtomicU64,
    clock: Arc<dyn Clock>,
    connected_since: Mutex<Option<Timestamp>>,
}

impl Echo {
    fn repeat(&self) -> Repeat {
        match self.settings.deduplicate {
            true => Repeat::Within(self.settings.remembers_for),
            false => Repeat::Never,
        }
    }

    /// A request arrives, whatever becomes of the answer.
    fn accept(&self, stored: &Stored) -> Report {
        crash_point!("echo.before_accept");
        let report = self.keep(stored);
        crash_point!("echo.after_accept");
        report
    }

    /// Does what a platform does with a request.
    fn keep(&self, stored: &Stored) -> Report {
        let now = self.clock.now();
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        if self.settings.deduplicate
            && let Some(native) = ledger.find(&stored.key)
        {
            return Report::Delivered { native: Some(native) };
        }
        match ledger.append(stored, now) {
            Ok(native) => Report::Delivered { native: Some(native) },
            Err(error) => Report::Unknown { reason: format!("the ledger failed: {error}").into() },
        }
    }
}

impl ConnectorAdapter for Echo {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            edit: true,
            delete: true,
            react: true,
            threads: false,
            history: self.settings.tells_history,
            max_text: 2_000,
            repeat: self.repeat(),
        }
    }

    fn run(&self, _: AdapterContext, mut shutdown: watch::Receiver<bool>) -> Waiting<'_, End> {
        Box::pin(async move {
            if let Some(end) = self.settings.faults.connect() {
                return end;
            }
            let since = || self.connected_since.lock().unwrap_or_else(PoisonError::into_inner);
            *since() = Some(self.clock.now());
            let _ = shutdown.wait_for(|stop| *stop).await;
            *since() = None;
            End::AsAsked
        })
    }

    fn admit<'a>(&'a self, _: &'a Stored) -> Waiting<'a, Admission> {
        let faults = &self.settings.faults;
        let until = faults.hold_until.filter(|until| *until > self.clock.now());
        Box::pin(std::future::ready(match until {
            Some(until) => Admission::NotBefore(until),
            None => Admission::Ready(Permit::default()),
        }))
    }

    fn send<'a>(&'a self, stored: &'a Stored, _: Permit) -> Waiting<'a, Report> {
        let request = self.requests.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let faults = &self.settings.faults;
            if faults.delay > Duration::ZERO {
                tokio::time::sleep(faults.delay.into()).await;
            }
            match faults.of_request(request) {
                None => self.accept(stored),
                Some(Fault::DropAnswer) => {
                    drop(self.accept(stored));
                    Report::Unknown { reason: "the answer was dropped".into() }
                }
                Some(Fault::Hang) => std::future::pending().await,
                Some(Fault::DoAndHang) => {
                    drop(self.accept(stored));
                    std::future::pending().await
                }
                Some(fault) => fault.report(),
            }
        })
    }

    fn reconcile<'a>(&'a self, stored: &'a Stored) -> Waiting<'a, Found> {
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let native = ledger.find(&stored.key);
        let outcome = match (self.settings.tells_history, &native, &stored.operation) {
            (false, ..) => Reconciled::StillUnknown,
            (true, Some(_), _) => Reconciled::Delivered,
            (true, None, Operation::Send { .. }) => Reconciled::NotDelivered,
            // A ledger does not show what was changed or taken back.
            (true, None, _) => Reconciled::StillUnknown,
        };
        let native = native.filter(|_| outcome == Reconciled::Delivered);
        Box::pin(std::future::ready(Found { outcome, native }))
    }

    fn snapshot(&self) -> RuntimeSnapshot {
        let connected_since = *self.connected_since.lock().unwrap_or_else(PoisonError::into_inner);
        let last_ack_at = connected_since.map(|_| self.clock.now());
        RuntimeSnapshot { connected_since, last_ack_at, ..RuntimeSnapshot::default() }
    }
}
