//! Decisions: total functions from values to values.
//!
//! Layer 0: no IO, no async, no clock, no randomness. A function here is told the time as a
//! [`Moment`](outbox::Moment) or a timestamp and chance as a number, and answers with what to write
//! down; whoever asks commits that and only then acts. Every event is answered in every state: what
//! makes no sense changes nothing and says why.
//!
//! - [`backoff`]: how long to wait before the next try.
//! - [`breaker`]: when somebody who keeps failing is left alone.
//! - [`outbox`]: the life of an outgoing message, and how those of one conversation wait for each
//!   other.
//! - [`inbound`]: the life of an incoming message.
//! - [`connector`]: when an adapter is started, stopped and started again.
//! - [`route`]: whether a message reaches an agent, and why.
//! - [`run`]: the life of a run, and what comes next in it.
//! - [`gate`]: whether a tool call is made, asked about or refused.
//! - [`approval`]: the life of a question to a human.
//! - [`budget`]: what may be used, and what was.
//! - [`auxiliary`]: the life of a side call to a model, and what takes the place of its output.

#![warn(missing_docs)]

pub mod approval;
pub mod auxiliary;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod connector;
pub mod gate;
pub mod inbound;
pub mod outbox;
pub mod route;
pub mod run;
