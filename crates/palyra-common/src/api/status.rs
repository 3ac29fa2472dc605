use serde::{Deserialize, Serialize};

use crate::deployment_profiles::DeploymentProfile;
use crate::error::StableErrorEnvelope;
use crate::ids::IncarnationId;
use crate::runtime_contracts::runtime_contract_enum;
use crate::time::Timestamp;

/// The process runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Health {
    /// Always `ok`: without an answer it is not.
    pub status: String,
}

/// Whether work can be taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Readiness {
    /// Whether every part is ready.
    pub ready: bool,
    /// The parts that are not, by name.
    pub waiting_for: Vec<String>,
}

/// How the daemon is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Status {
    /// The version of the program.
    pub version: String,
    /// This run of this node.
    pub node: IncarnationId,
    /// The process id.
    pub pid: u32,
    /// When it started.
    pub started_at: Timestamp,
    /// How it is deployed.
    pub profile: DeploymentProfile,
    /// Where this node keeps its files.
    pub data_dir: String,
    /// `sqlite` or `postgres`.
    pub engine: String,
    /// The version of the schema. While the database is away, it is told as it was last seen, and
    /// absent if it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<i64>,
    /// The address of the console and the HTTP API.
    pub http: String,
    /// The address of the gRPC API.
    pub grpc: String,
    /// Whether there is an owner: somebody has logged in, or made a link or a token on the daemon's
    /// own machine. Absent while the database is away and none was seen before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_owner: Option<bool>,
    /// Whether the owner has ever logged in. Absent while the database is away and that was not seen
    /// before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_logged_in: Option<bool>,
    /// The vault.
    pub vault: VaultStatus,
    /// What agents do, on all nodes; absent while the database is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunsStatus>,
    /// Whether every part is ready.
    pub ready: bool,
    /// The parts that are not, by name.
    pub waiting_for: Vec<String>,
}

/// How much work there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunsStatus {
    /// Runs that wait for their turn, or for a time.
    pub queued: u64,
    /// Runs that are worked on.
    pub running: u64,
    /// Runs that wait for a human.
    pub waiting_for_approval: u64,
    /// Runs that wait until somebody resumes them.
    pub paused: u64,
    /// Questions that nobody has answered yet.
    pub approvals: u64,
}

/// How the vault is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VaultStatus {
    /// Where the master key comes from.
    pub key_source: String,
    /// The id of the key, if it is there and the right one; absent before the first secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// Why it is not known whether the key is anywhere but in the memory of this daemon, so that all
    /// secrets may be lost with it; absent when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Why secrets cannot be used; absent when they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<StableErrorEnvelope>,
    /// When that was found. A passphrase, command or keyring that failed is asked again after 30
    /// seconds, or when a secret is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem_seen_at: Option<Timestamp>,
}

/// What a series of checks found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Doctor {
    /// Each check.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Check {
    /// Its name: `storage_path`.
    pub name: String,
    /// What it came to.
    pub state: CheckState,
    /// What was seen.
    pub seen: String,
    /// What to do; absent when all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Whether `palyra doctor --fix` can put it right.
    #[serde(default)]
    pub fixable: bool,
}

runtime_contract_enum! {
    /// What a check came to.
    pub enum CheckState {
        /// All is well.
        Ok = "ok",
        /// It works, but not as it should.
        Warning = "warning",
        /// It does not work.
        Failed = "failed",
        /// It does not apply here.
        Skipped = "skipped",
    }
}
