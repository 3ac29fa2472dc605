use serde::Serialize;

use super::{
    AuthRequirement, BackupStance, BindPolicy, BlobPlace, DeploymentProfile, DeploymentRecipe,
    PreflightCheck, SandboxStance, StorageEngine, WorkerTopology,
};

/// What a deployment profile sets and demands: one column of the table of profiles.
///
/// It holds what there is. Pairing, mutual TLS, guarded public addresses and recipes for containers are
/// words that a profile gets with what they stand for: `palyra deployment explain` tells people to rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ProfileSpec {
    /// The profile that this is the spec of.
    pub profile: DeploymentProfile,
    /// What it is for, in words.
    pub purpose: &'static str,
    /// Which addresses listeners may have.
    pub bind: BindPolicy,
    /// Database, blobs, backups.
    pub storage: StorageSpec,
    /// Which processes do the work.
    pub workers: WorkerTopology,
    /// What callers need to be let in.
    pub auth: &'static [AuthRequirement],
    /// What is said where confined processes are impossible.
    pub sandbox: SandboxStance,
    /// The checks before serving, in the order in which they are made.
    pub preflights: &'static [PreflightCheck],
    /// Ready-made files for running it.
    pub recipes: &'static [DeploymentRecipe],
}

/// Where a profile keeps its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StorageSpec {
    /// The database.
    pub engine: StorageEngine,
    /// Where blobs may be; the first is the default.
    pub blobs: &'static [BlobPlace],
    /// Who sees to backups.
    pub backups: BackupStance,
}

const LOCAL: ProfileSpec = ProfileSpec {
    profile: DeploymentProfile::Local,
    purpose: "one person's machine",
    bind: BindPolicy::LoopbackOnly,
    storage: StorageSpec {
        engine: StorageEngine::Sqlite,
        blobs: &[BlobPlace::LocalFolder],
        backups: BackupStance::OnDemand,
    },
    workers: WorkerTopology::SingleProcess,
    auth: &[AuthRequirement::LocalLoginLink],
    sandbox: SandboxStance::DoctorExplains,
    preflights: &[PreflightCheck::Config, PreflightCheck::StoragePath, PreflightCheck::Bind],
    recipes: &[DeploymentRecipe::SystemdUnit],
};

const SINGLE_VM: ProfileSpec = ProfileSpec {
    profile: DeploymentProfile::SingleVm,
    purpose: "one server",
    bind: BindPolicy::LoopbackBehindProxy,
    storage: StorageSpec {
        engine: StorageEngine::Sqlite,
        blobs: &[BlobPlace::LocalFolder],
        backups: BackupStance::Scheduled,
    },
    workers: WorkerTopology::SingleProcess,
    auth: &[AuthRequirement::LocalLoginLink, AuthRequirement::Tokens],
    sandbox: SandboxStance::PreflightWarns,
    preflights: &[
        PreflightCheck::Config,
        PreflightCheck::StoragePath,
        PreflightCheck::Bind,
        PreflightCheck::DiskSpace,
        PreflightCheck::Clock,
        PreflightCheck::BackupTarget,
        PreflightCheck::Tls,
    ],
    recipes: &[DeploymentRecipe::SystemdUnit],
};

const WORKER_ENABLED: ProfileSpec = ProfileSpec {
    profile: DeploymentProfile::WorkerEnabled,
    purpose: "several nodes",
    bind: BindPolicy::LoopbackBehindProxy,
    storage: StorageSpec {
        engine: StorageEngine::Postgres,
        blobs: &[BlobPlace::S3Compatible, BlobPlace::SharedFolder],
        backups: BackupStance::Scheduled,
    },
    workers: WorkerTopology::EveryNode,
    auth: &[AuthRequirement::LocalLoginLink, AuthRequirement::Tokens],
    sandbox: SandboxStance::StrictOrOff,
    preflights: &[
        PreflightCheck::Config,
        PreflightCheck::StoragePath,
        PreflightCheck::Bind,
        PreflightCheck::DiskSpace,
        PreflightCheck::Clock,
        PreflightCheck::BackupTarget,
        PreflightCheck::Tls,
        PreflightCheck::PostgresVersion,
        PreflightCheck::PostgresLatency,
        PreflightCheck::BlobRoundTrip,
        PreflightCheck::Workspaces,
        PreflightCheck::LeaseRoundTrip,
        PreflightCheck::NodeId,
    ],
    recipes: &[DeploymentRecipe::SystemdUnit],
};

impl DeploymentProfile {
    /// What this profile sets and demands.
    pub const fn spec(self) -> &'static ProfileSpec {
        match self {
            Self::Local => &LOCAL,
            Self::SingleVm => &SINGLE_VM,
            Self::WorkerEnabled => &WORKER_ENABLED,
        }
    }
}

/// What runs when nothing is configured.
impl Default for DeploymentProfile {
    fn default() -> Self {
        Self::Local
    }
}
