//! What there is to say of a connector that is to run and has no connection.

use palyra_common::runtime_contracts::ConnectorEventKind;
use palyra_common::time::{Duration, Timestamp};

/// How a connector is that has no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unconnected {
    /// It was started, or is about to be, so short a time ago that it need not be connected yet.
    Starting,
    /// It has ended without being asked to, and is started again.
    Failing,
    /// It had the time to connect.
    Lost,
}

/// How long a connector may take to connect.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

/// How a connector without a connection is at `now`, by what happened to it last, the newest first;
/// since `runs_since` somebody is there to start it.
pub fn unconnected(
    last: &[(ConnectorEventKind, Timestamp)],
    runs_since: Timestamp,
    now: Timestamp,
) -> Unconnected {
    use ConnectorEventKind as Kind;
    let mut started = None;
    for (kind, at) in last {
        let earlier = match kind {
            // However short a time ago it was started: it fails again and again.
            Kind::Lost => return Unconnected::Failing,
            Kind::Started if started.is_none() => {
                started = Some(*at);
                continue;
            }
            Kind::Started | Kind::Added | Kind::Configured | Kind::Enabled | Kind::Stopped => *at,
            Kind::Disabled
            | Kind::Paused
            | Kind::Resumed
            | Kind::Silent
            | Kind::HeardAgain
            | Kind::AuthFailed
            | Kind::MissingCredential
            | Kind::Misconfigured
            | Kind::MessageSetAside => continue,
        };
        return since(started.unwrap_or(earlier).max(runs_since), now);
    }
    since(started.unwrap_or(runs_since).max(runs_since), now)
}

fn since(begun: Timestamp, now: Timestamp) -> Unconnected {
    match now.since(begun) <= CONNECTS_WITHIN {
        true => Unconnected::Starting,
        false => Unconnected::Lost,
    }
}

#[cfg(test)]
mod tests;
