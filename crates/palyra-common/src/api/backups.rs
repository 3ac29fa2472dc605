use serde::{Deserialize, Serialize};

use crate::error::StableErrorEnvelope;
use crate::ids::BackupId;

/// The header of a backup that names it, for whoever wants to know why it broke off.
pub const BACKUP_ID_HEADER: &str = "palyra-backup-id";

/// What became of a backup that somebody has asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BackupMaking {
    /// Which one.
    pub id: BackupId,
    /// Whether it is no longer being made.
    pub ended: bool,
    /// Why it was not made; absent when it was, as far as the daemon is concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<StableErrorEnvelope>,
}
