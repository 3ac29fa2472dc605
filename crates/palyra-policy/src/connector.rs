//! When an adapter is started, stopped and started again.
//!
//! A connector that fails concerns nobody but itself. One that lacks what only a human can give
//! (a valid credential, a configuration that can work) is not started again and again: it waits for
//! the human, and its queue with it.

use palyra_common::queue::Backoff;
use palyra_common::runtime_contracts::{ConnectorLiveness, ConnectorReadiness};
use palyra_common::time::{Duration, Timestamp};

use crate::backoff::{Chance, wait};

mod contact;
mod queue;
#[cfg(test)]
mod tests;
mod unconnected;

pub use contact::{ContactFacts, contact, silent_since};
pub use queue::{Flow, QueueFacts, reasons, saturation};
pub use unconnected::{Unconnected, unconnected};

/// What decides what to do with an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connector {
    /// Whether an operator wants it to run.
    pub wanted: Wanted,
    /// Whether it has what it needs.
    pub readiness: ConnectorReadiness,
    /// What its task does.
    pub liveness: ConnectorLiveness,
    /// How often in a row it ended without being asked to.
    pub crashes: u32,
    /// Since when it has been connected.
    pub connected_since: Option<Timestamp>,
    /// When to start it again.
    pub start_at: Option<Timestamp>,
}

/// Whether an operator wants a connector to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// It is to run.
    On,
    /// It is not.
    Off,
}

impl Connector {
    /// One that does not run.
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            readiness: ConnectorReadiness::Ready,
            liveness: ConnectorLiveness::Stopped,
            crashes: 0,
            connected_since: None,
            start_at: None,
        }
    }
}

/// How an adapter is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How long to wait after it ended unasked.
    pub backoff: Backoff,
    /// Connected for this long, it is forgiven what went wrong before.
    pub stable_after: Duration,
}

/// What happens to a connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An operator wants it.
    Enabled,
    /// An operator does not want it.
    Disabled,
    /// Its credential or configuration was changed.
    Changed,
    /// An operator wants it, and it is known to lack this, whoever has found out.
    Lacks(ConnectorReadiness),
    /// Its time to be started has come.
    Due,
    /// It has connected.
    Connected,
    /// It has lost its connection and is making a new one.
    Reconnecting,
    /// Its task has ended.
    Ended(Ended),
}

/// Why the task of an adapter has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Because it was asked to.
    AsAsked,
    /// For no reason that it gave: a panic, a lost connection that it gave up.
    Crashed,
    /// The platform refused its credential.
    AuthFailed,
    /// There is no credential.
    MissingCredential,
    /// Its configuration cannot work.
    Misconfigured,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// Start its task.
    Start,
    /// Ask its task to end.
    Stop,
}

/// What becomes of a connector, and what to do.
pub fn step(
    connector: &Connector,
    event: Event,
    rules: &Rules,
    now: Timestamp,
    chance: Chance,
) -> (Connector, Action) {
    let is = *connector;
    match event {
        Event::Enabled => start(Connector { wanted: Wanted::On, ..fresh(is) }),
        Event::Changed => match (is.wanted, runs(is)) {
            (Wanted::Off, _) => (fresh(is), Action::Nothing),
            (Wanted::On, false) => start(fresh(is)),
            // It ends with the old settings and is due again with the new ones.
            (Wanted::On, true) => (Connector { start_at: Some(now), ..fresh(is) }, Action::Stop),
        },
        Event::Lacks(readiness) => match runs(is) {
            // Its task finds out by itself.
            true => (is, Action::Nothing),
            false => (waiting(Connector { wanted: Wanted::On, ..is }, readiness), Action::Nothing),
        },
        Event::Disabled => {
            let off = Connector { wanted: Wanted::Off, start_at: None, ..is };
            match runs(is) {
                true => (off, Action::Stop),
                false => {
                    (Connector { liveness: ConnectorLiveness::Stopped, ..off }, Action::Nothing)
                }
            }
        }
        Event::Due => match is.start_at {
            Some(at) if at <= now && is.wanted == Wanted::On => start(is),
            Some(_) | None => (is, Action::Nothing),
        },
        Event::Connected => {
            let connected_since = is.connected_since.or(Some(now));
            let running = ConnectorLiveness::Running;
            (reported(is, Connector { liveness: running, connected_since, ..is }), Action::Nothing)
        }
        Event::Reconnecting => {
            let liveness = ConnectorLiveness::Restarting;
            (reported(is, Connector { liveness, connected_since: None, ..is }), Action::Nothing)
        }
        Event::Ended(ended) => (after_end(is, ended, rules, now, chance), Action::Nothing),
    }
}

/// A task that was asked to end may still report; it is not believed to be back.
fn reported(is: Connector, told: Connector) -> Connector {
    match (is.wanted, runs(is)) {
        (Wanted::On, true) => told,
        (Wanted::On | Wanted::Off, _) => is,
    }
}

fn runs(is: Connector) -> bool {
    match is.liveness {
        ConnectorLiveness::Starting
        | ConnectorLiveness::Running
        | ConnectorLiveness::Restarting => true,
        ConnectorLiveness::Stopped | ConnectorLiveness::Crashed => false,
    }
}

/// What went wrong with the old settings says nothing about the new ones.
fn fresh(is: Connector) -> Connector {
    Connector { readiness: ConnectorReadiness::Ready, crashes: 0, start_at: None, ..is }
}

fn start(is: Connector) -> (Connector, Action) {
    if runs(is) {
        return (is, Action::Nothing);
    }
    let liveness = ConnectorLiveness::Starting;
    (Connector { liveness, connected_since: None, start_at: None, ..is }, Action::Start)
}

/// Nobody but a human can give it what it lacks.
fn waiting(is: Connector, readiness: ConnectorReadiness) -> Connector {
    Connector { readiness, liveness: ConnectorLiveness::Stopped, start_at: None, ..is }
}

fn after_end(
    is: Connector,
    ended: Ended,
    rules: &Rules,
    now: Timestamp,
    chance: Chance,
) -> Connector {
    let stopped = Connector { liveness: ConnectorLiveness::Stopped, connected_since: None, ..is };
    let waiting = |readiness| waiting(stopped, readiness);
    match (ended, is.wanted) {
        (_, Wanted::Off) => Connector { start_at: None, ..stopped },
        (Ended::AuthFailed, Wanted::On) => waiting(ConnectorReadiness::AuthFailed),
        (Ended::MissingCredential, Wanted::On) => waiting(ConnectorReadiness::MissingCredential),
        (Ended::Misconfigured, Wanted::On) => waiting(ConnectorReadiness::Misconfigured),
        // It was asked to end because its settings were changed.
        (Ended::AsAsked, Wanted::On) => {
            Connector { start_at: Some(is.start_at.unwrap_or(now)), ..stopped }
        }
        (Ended::Crashed, Wanted::On) => {
            let steady = |since| now.since(since) >= rules.stable_after;
            let before = if is.connected_since.is_some_and(steady) { 0 } else { is.crashes };
            let crashes = before.saturating_add(1);
            let start_at = Some(now + wait(rules.backoff, crashes, chance));
            Connector { liveness: ConnectorLiveness::Crashed, crashes, start_at, ..stopped }
        }
    }
}
