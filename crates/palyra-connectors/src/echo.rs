//! `echo`: a platform on this machine. What is sent to it is written to a ledger, and it can be told
//! to fail in every way in which a platform fails.

mod faults;
mod ledger;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use palyra_common::ids::ConversationId;
use palyra_common::time::{Clock, Duration};
use palyra_connector_core::{
    AdapterContext, Admission, Capabilities, Connected, Connector, ConnectorAdapter, End, Found,
    OnPlatform, Operation, Permit, Reading, Reason, Report, Stored, Waiting,
};
use palyra_policy::outbox::{Reconciled, Repeat};
use palyra_storage::crash_point;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

pub use faults::{ConnectionFault, Fault, Faults};
pub use ledger::{Line, Typing};

use ledger::Ledger;

/// The kind of this connector.
pub const KIND: &str = "echo";

/// Nobody listens more often than that.
const MIN_HEARTBEAT: Duration = Duration::from_millis(100);

/// What an operator chooses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EchoSettings {
    /// The name of the file that keeps what was sent, one JSON object to a line. It is in the
    /// daemon's own folder, wherever that is: whoever may set this may not choose where to write.
    /// Nothing: the last thousand or so are kept in memory, which ends with the daemon, and with it
    /// what is known of them.
    pub ledger: Option<String>,
    /// Whether the same message twice is one.
    pub deduplicate: bool,
    /// For how long after a message has arrived another one of the same key is the same. Later it is
    /// a second one.
    pub remembers_for: Duration,
    /// How often it answers a heartbeat: 100 milliseconds at least.
    pub heartbeat: Duration,
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
            heartbeat: Duration::from_secs(5),
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
    if !settings.ledger.as_ref().is_none_or(plain) {
        return Err("ledger is the name of a file: up to 64 letters, digits and ._-".to_owned());
    }
    if settings.heartbeat < MIN_HEARTBEAT {
        return Err(format!("heartbeat is {MIN_HEARTBEAT} at least"));
    }
    Ok(settings)
}

/// The adapter of an echo connector, whose ledger is in `folder`.
pub(crate) fn build(
    connector: &Connector,
    clock: Arc<dyn Clock>,
    folder: &Path,
) -> Result<Arc<dyn ConnectorAdapter>, String> {
    let settings = settings(&connector.settings)?;
    let opened = match &settings.ledger {
        Some(name) => {
            std::fs::create_dir_all(folder).and_then(|()| Ledger::open(&folder.join(name)))
        }
        None => Ok(Ledger::in_memory(clock.now())),
    };
    let ledger = opened.map_err(|error| format!("the ledger cannot be opened: {error}"))?;
    let (ledger, requests) = (Mutex::new(ledger), AtomicU64::new(0));
    let attempt_timeout = connector.queue.attempt_timeout;
    Ok(Arc::new(Echo { settings, ledger, requests, clock, attempt_timeout }))
}

struct Echo {
    settings: EchoSettings,
    ledger: Mutex<Ledger>,
    /// How many requests have come in, by which faults are chosen.
    requests: AtomicU64,
    clock: Arc<dyn Clock>,
    /// How long a request may be on its way.
    attempt_timeout: Duration,
}

impl Echo {
    /// What can be relied on: a request that begins in time may arrive so much later, and what is
    /// in memory alone is not remembered after a restart.
    fn repeat(&self) -> Repeat {
        let remembers = self.settings.remembers_for.as_millis();
        let safe = remembers.saturating_sub(self.attempt_timeout.as_millis());
        match self.settings.deduplicate && self.settings.ledger.is_some() && safe > 0 {
            true => Repeat::Within(Duration::from_millis(safe)),
            false => Repeat::Never,
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut ledger = self.ledger();
        if self.settings.deduplicate
            && let Some(known) = ledger.find(&stored.key)
            && now.since(known.at) < self.settings.remembers_for
        {
            return Report::Delivered { native: Some(known.native.clone()) };
        }
        match ledger.append(stored, now) {
            Ok(native) => Report::Delivered { native: Some(native) },
            Err(error) => Report::Unknown { reason: failed(error) },
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
            search: self.settings.tells_history,
            typing: true,
            max_text: 2_000,
            repeat: self.repeat(),
        }
    }

    fn run(
        &self,
        context: AdapterContext,
        mut shutdown: watch::Receiver<bool>,
    ) -> Waiting<'_, End> {
        Box::pin(async move {
            let faults = &self.settings.faults;
            if let Some(end) = faults.connect() {
                return end;
            }
            context.connected(Connected::Anew, Some(self.settings.heartbeat));
            let mut heartbeats = tokio::time::interval(self.settings.heartbeat.into());
            loop {
                tokio::select! {
                    _ = shutdown.wait_for(|stop| *stop) => break,
                    _ = heartbeats.tick() => if !faults.silent() {
                        context.acked(Duration::ZERO);
                    },
                }
            }
            context.disconnected();
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
        let ledger = self.ledger();
        let native = ledger.find(&stored.key).map(|known| known.native.clone());
        let whole = stored.entry.first_attempt_at.is_some_and(|first| ledger.goes_back_to(first));
        let outcome = match (self.settings.tells_history, &native, &stored.operation) {
            (false, ..) => Reconciled::StillUnknown,
            (true, Some(_), _) => Reconciled::Delivered,
            (true, None, Operation::Send { .. }) if whole => Reconciled::NotDelivered,
            // A ledger does not show what was changed or taken back, nor what it has forgotten.
            (true, None, _) => Reconciled::StillUnknown,
        };
        let native = native.filter(|_| outcome == Reconciled::Delivered);
        Box::pin(std::future::ready(Found { outcome, native }))
    }

    fn read<'a>(&'a self, wanted: &'a Reading) -> Waiting<'a, Result<Vec<OnPlatform>, Reason>> {
        let read = self.ledger().read(wanted).map_err(failed);
        Box::pin(std::future::ready(read))
    }

    fn typing<'a>(&'a self, conversation: &'a ConversationId) -> Waiting<'a, Result<(), Reason>> {
        let shown = self.ledger().typing(conversation, self.clock.now()).map_err(failed);
        Box::pin(std::future::ready(shown))
    }
}

fn failed(error: std::io::Error) -> Reason {
    format!("the ledger failed: {error}").into()
}
