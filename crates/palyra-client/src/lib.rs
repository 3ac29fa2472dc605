//! A typed client of the daemon's HTTP API.
//!
//! A [`Client`] speaks to one [`Target`]: the Unix socket in a data directory, where the owner of
//! the machine needs no credential, or an address with an API token. Answers are bounded in size and
//! time; what goes wrong is a [`ClientError`], which has the envelope of the daemon or one of its
//! own. What happens is followed by a [`RunFollower`] or a [`FeedFollower`], which survive the
//! daemon.

#![warn(missing_docs)]

mod absence;
mod acp;
mod agents;
mod answer;
mod approvals;
mod calls;
mod channels;
mod client;
mod download;
mod error;
mod follow;
mod sessions;
mod target;

#[cfg(test)]
mod tests;

pub use absence::Absence;
pub use calls::{EventQuery, Order};
pub use channels::{DeadLetterDecision, Waiting};
pub use client::{ANSWER_TIMEOUT, Client, STATUS_TIMEOUT};
pub use download::Download;
pub use error::ClientError;
pub use follow::{FeedFollower, Followed, RunFollower};
pub use sessions::{RunQuery, RunWish};
pub use target::{ApiToken, Host, Target, TargetError};
