use serde::{Deserialize, Serialize};

use crate::error::StableErrorEnvelope;
use crate::ids::EventId;
use crate::time::Timestamp;

/// One entry of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEvent {
    /// Its number, without gaps.
    pub seq: i64,
    /// Its id.
    pub id: EventId,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// Did what, as `token.revoked`.
    pub action: String,
    /// To what.
    pub subject: String,
    /// From where.
    pub origin: String,
    /// With which outcome.
    pub outcome: String,
    /// Further ids. `credential` is the one that was used: `local`, `token:ID` or `login:ID`.
    pub detail: serde_json::Value,
    /// The hash over this entry and all before it, in hexadecimal.
    pub hash: String,
}

/// What a check of the whole audit trail found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditVerified {
    /// Entries that were checked.
    pub entries: u64,
    /// Segments whose entries are gone and whose last hash was checked.
    pub pruned_segments: u64,
    /// The first fault, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ChainFaultAt>,
}

/// Where the audit trail is broken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChainFaultAt {
    /// The number of the entry.
    pub seq: i64,
    /// What is wrong and what to do.
    pub error: StableErrorEnvelope,
}
