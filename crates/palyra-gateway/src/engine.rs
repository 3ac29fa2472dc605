//! The run engine: takes runs that are due, and drives each by its tape. It decides by
//! `palyra_policy::run`, commits, acts, and commits what came of it; whoever finds a run that another
//! worker has left goes on from the same tape.
//!
//! A run that waits is a row. A worker has one lease for all of its runs, whose token stands in each
//! of them: what is written under another token changes nothing.

mod act;
mod charge;
mod children;
mod commit;
mod compact;
mod context;
mod drive;
mod finish;
mod fit;
mod gating;
mod hands;
mod known;
mod model;
mod phase;
mod queue;
mod signal;
mod unknown;
mod unreadable;
mod work;

use std::sync::Arc;

use palyra_common::time::Clock;
use palyra_connector_core::{Dice, Outgoing};
use palyra_storage::blob::BlobStore;
use palyra_storage::lease::Leases;
use palyra_storage::{Database, Topic};

use crate::streams::Streams;
use crate::tool::Toolbox;

pub(crate) use act::MOST_CALLS;
pub(crate) use charge::{scopes_of, settle};
pub(crate) use children::{given_away, tell_to_stop};
pub(crate) use commit::tell_parent;
pub(crate) use compact::Lost;
pub(crate) use finish::{QUEUE_FULL, ended_by};
pub(crate) use gating::subject;
pub use hands::Hands;
pub(crate) use known::state_of;
pub use model::{Asked, Thinker, Thought, ThoughtError};
pub(crate) use queue::{BEGIN_WITHIN, MOST_DEPTH, append, let_go, rejoin};
pub use queue::{NewInput, Place, Submitted, submit};
pub use signal::Signal;
pub(crate) use unknown::left_over;
pub(crate) use unreadable::DETAIL as UNREADABLE;
pub use work::Engine;

/// Rung when a run can be taken, or a worker should look at its signals.
pub(crate) const TOPIC: Topic = Topic::new("runs");

/// What an engine works with.
#[derive(Clone)]
pub struct EngineOptions {
    /// The database.
    pub db: Database,
    /// The leases of this node, which somebody renews.
    pub leases: Leases,
    /// Where results go that are too large for the tape.
    pub blobs: BlobStore,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub dice: Arc<dyn Dice>,
    /// Asks models.
    pub thinker: Arc<dyn Thinker>,
    /// What agents act with.
    pub tools: Toolbox,
    /// Takes secrets out of what is written down and sent.
    pub outgoing: Arc<dyn Outgoing>,
    /// Who watches runs.
    pub streams: Streams,
    /// How many runs this node works on at once.
    pub capacity: usize,
}
