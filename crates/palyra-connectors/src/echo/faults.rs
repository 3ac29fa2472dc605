//! How echo fails, when it is told to.

use palyra_common::runtime_contracts::RetryClass;
use palyra_common::time::{Duration, Timestamp};
use palyra_connector_core::{End, Reason, Report};
use serde::{Deserialize, Serialize};

/// How echo fails.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// What happens to requests. Nothing: they are done.
    pub request: Option<Fault>,
    /// Of how many requests one meets that; 0 and 1: all.
    pub one_in: u64,
    /// How long a request takes.
    pub delay: Duration,
    /// Requests are not admitted before this.
    pub hold_until: Option<Timestamp>,
    /// What becomes of the connection. Nothing: it holds.
    pub connection: Option<ConnectionFault>,
}

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It does not leave this machine.
    Transient,
    /// The platform asks to wait.
    RateLimit {
        /// For how long.
        after: Duration,
    },
    /// The connection is being made anew.
    Restarting,
    /// The platform refuses the message.
    Reject,
    /// The platform refuses the credential.
    Unauthorized,
    /// It is lost on the way; nobody knows how far it got.
    Lose,
    /// It is done, and the answer is lost.
    DropAnswer,
    /// It is never answered.
    Hang,
    /// It is done, and never answered.
    DoAndHang,
}

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionFault {
    /// It is lost at once.
    Lost,
    /// The platform refuses the credential.
    Unauthorized,
    /// There is no credential.
    NoCredential,
    /// It holds, and the platform does not answer heartbeats.
    Silent,
}

impl Faults {
    pub(super) fn of_request(&self, number: u64) -> Option<Fault> {
        self.request.filter(|_| number.is_multiple_of(self.one_in.max(1)))
    }

    pub(super) fn connect(&self) -> Option<End> {
        let told = Reason::from("echo was told to fail");
        Some(match self.connection? {
            ConnectionFault::Lost => End::Lost(told),
            ConnectionFault::Unauthorized => End::AuthFailed(told),
            ConnectionFault::NoCredential => End::MissingCredential(told),
            ConnectionFault::Silent => return None,
        })
    }

    pub(super) fn silent(&self) -> bool {
        self.connection == Some(ConnectionFault::Silent)
    }
}

impl Fault {
    /// What a request that meets this comes to, where nothing is done.
    pub(super) fn report(self) -> Report {
        let reason = Reason::from("echo was told to fail");
        match self {
            Self::Transient => {
                Report::Retry { class: RetryClass::TransientNetwork, after: None, reason }
            }
            Self::RateLimit { after } => {
                Report::Retry { class: RetryClass::RateLimit, after: Some(after), reason }
            }
            Self::Restarting => {
                Report::Retry { class: RetryClass::ConnectorRestarting, after: None, reason }
            }
            Self::Reject => Report::Rejected { reason },
            Self::Unauthorized => Report::AuthFailed { reason },
            Self::Lose | Self::DropAnswer | Self::Hang | Self::DoAndHang => {
                Report::Unknown { reason }
            }
        }
    }
}
