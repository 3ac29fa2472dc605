//! The values that every other crate of Palyra speaks in.
//!
//! Layer 0: no IO, no async, no clock, no randomness. What a function here needs of the world is
//! passed to it: the time as a [`Timestamp`], entropy as a number. `clippy.toml` beside this crate
//! refuses the usual ways around that.
//!
//! - [`time`]: instants and lengths of time, and the [`Clock`] port.
//! - [`ids`]: typed ids.
//! - [`error`]: the registry of stable error codes and the envelope that carries one to a user.
//! - [`runtime_contracts`]: the closed sets of words that cross a wire, defined once.
//! - [`handoff`]: the link with which a person moves from one surface to another.
//! - [`deployment_profiles`]: the three ways in which Palyra is run.
//! - [`api`]: what the HTTP API takes and gives.
//! - [`route`], [`queue`]: what an operator chooses for a channel.
//! - [`a2ui`]: user interface that agents push.
//! - [`agent`]: who does the work. [`tape`]: what happens in a run.
//! - [`data_dir`]: where a node keeps its files, and what they are called.
//! - [`hint`]: commands that people are told.
//! - [`shapes`]: what credentials look like in a text.
//! - [`text`]: what is done to text as it enters.

#![warn(missing_docs)]

pub mod a2ui;
pub mod agent;
pub mod api;
pub mod data_dir;
pub mod deployment_profiles;
pub mod error;
pub mod handoff;
pub mod hint;
pub mod ids;
pub mod queue;
pub mod route;
pub mod runtime_contracts;
pub mod shapes;
pub mod tape;
pub mod text;
pub mod time;

#[cfg(feature = "openapi")]
mod openapi;
mod serde_number;
mod serde_object;
mod serde_text;

pub use deployment_profiles::DeploymentProfile;
pub use error::{ErrorCode, StableErrorEnvelope};
pub use handoff::CrossSurfaceHandoff;
pub use ids::{
    ApprovalId, BackupId, ConnectorId, Credential, EventId, IdParseError, IncarnationId, LoginId,
    ObjectiveId, Principal, RunId, SessionId, SurfaceId, TokenId, TypedId,
};
pub use time::{Clock, Duration, Timestamp};
