//! Deployment profiles: the three ways in which Palyra is run, and what each demands.
//!
//! A [`DeploymentProfile`] is the word in the configuration, its [`ProfileSpec`] the column of the
//! table behind it, and [`judge_bind`] the decision whether a listener may be opened.

mod bind;
mod spec;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use bind::{BindRequest, TlsMode, judge_bind};
pub use spec::{ProfileSpec, StorageSpec};
pub use vocabulary::{
    AuthRequirement, BackupStance, BindAcknowledgement, BindPolicy, BindReason, BlobPlace,
    DeploymentProfile, DeploymentRecipe, PreflightCheck, SandboxStance, StorageEngine,
    WorkerTopology,
};

pub(crate) use vocabulary::CONTRACTS;
