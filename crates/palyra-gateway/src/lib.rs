//! Between channels and agents.
//!
//! - [`ChannelRouter`]: decides which messages reach an agent, in the transaction in which they come
//!   in.
//! - [`Rules`]: what it decides by, as rows.
//! - [`Responder`]: the port of whoever answers; [`Mirror`] stands behind it until agents do.

#![warn(missing_docs)]

mod responder;
mod router;
mod rules;
mod store;

pub use responder::{Mirror, Responder, Routed};
pub use router::{ChannelRouter, Preview, reply_envelope};
pub use rules::{RuleError, Rules, add_rule};
pub use store::router_rules::StoredRule;
