//! What the HTTP API takes and gives: shared by the daemon, which serves it, and its client.
//!
//! A list is a [`Page`]; an error is a [`StableErrorEnvelope`](crate::StableErrorEnvelope). New
//! fields may be added to what is given, so clients ignore what they do not know. Only in the rule of
//! a router and the settings of a queue they refuse it: those are written back as a whole, and what
//! was left out would be undone.

mod access;
pub mod acp;
mod agents;
mod approvals;
mod audit;
mod backups;
mod channels;
mod config;
mod feed;
mod messages;
mod models;
mod people;
mod redaction;
mod router;
mod runs;
mod secrets;
mod sessions;
mod status;

use serde::{Deserialize, Serialize};

pub use access::{CreatedToken, MAX_TOKEN_SECONDS, NewToken, Token};
pub use acp::{AcpCommandEnvelope, AcpCommandResultEnvelope};
pub use agents::{Agent, AgentChange, NewAgent};
pub use approvals::{Approval, ApprovalAsker, ApprovalDecision, ApprovalVerdict};
pub use audit::{AuditEvent, AuditVerified, ChainFaultAt};
pub use backups::{BACKUP_ID_HEADER, BackupMaking};
pub use channels::{
    Changed, Channel, ChannelConnection, ChannelDetail, ChannelEvent, ChannelQueue,
    ChannelSettings, DeadLetter, Decided, NewChannel, OutboxEntry, PauseReason, ReplayMany,
    ResolveUnknown, UnknownResolution,
};
pub use config::{ConfigChange, ConfigChanged, ConfigOption, ConfigView};
pub use feed::FeedEvent;
pub use messages::{MessageState, NewMessage, PartState, SaidMessage, TestMessage, TestResult};
pub use models::{Model, ModelPrice, ModelState, ModelTested};
pub use people::{Login, LoginCode, Member, NewLoginCode, NewMember, Session, WhoAmI};
pub use redaction::Texts;
pub use router::{NewRule, RouteDecision, RoutePreview, RouterRule, RuleChange};
pub use runs::{Compared, Difference, ExportedEvent, Parting, Replayed, Run, RunTotals, TapeHead};
pub use secrets::{MasterRotated, RotateMaster, Secret, SecretStored, SecretValue, SecretVersion};
pub use sessions::{
    AgentSession, MessageRole, NewInput, NewSession, SessionChange, SessionMessage, SessionSurface,
    ShownSurface, Submitted,
};
pub use status::{Check, CheckState, Doctor, Health, Readiness, RunsStatus, Status, VaultStatus};

pub(crate) use status::CONTRACTS;

/// Some items of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// The items, in the order of the list.
    pub items: Vec<T>,
    /// Where to go on; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
