//! Connectors: what a platform implements, and what is done for it.
//!
//! An outgoing message is a row before anything is sent, and every attempt is written down before
//! it is made; what became of it is decided by `palyra-policy` and written down after. So a message
//! is neither lost nor sent twice, whoever dies in between, and where nobody can know, the entry
//! says so.
//!
//! - [`Operation`], [`Envelope`]: what is sent. [`Outgoing`]: takes out of a text what may not be.
//! - [`ConnectorAdapter`]: what a platform implements.
//! - [`ConnectorSupervisor`]: runs adapters and sends what is due through them. [`Platforms`]: asks
//!   those that run here.
//! - [`Connectors`]: the instances that an operator has set up.
//! - [`Outbox`]: the queue, and what humans decide about its entries. [`Deliveries`]: told what became of
//!   messages.
//! - [`Inbound`]: what came in, handed once to whoever implements [`InboundSink`].
//! - `conformance`, a feature: the stories that every connector has to pass.

#![warn(missing_docs)]

mod adapter;
#[cfg(feature = "conformance")]
pub mod conformance;
mod connection;
mod connectors;
mod delivery;
mod error;
mod feed;
mod history;
mod inbound;
pub mod metrics;
mod operation;
mod outbox;
mod outgoing;
mod reason;
mod restored;
mod resume;
mod retention;
mod split;
mod store;
mod supervisor;

pub use adapter::{
    Accepting, AdapterContext, AdapterRegistry, Admission, Capabilities, ConnectorAdapter, End,
    Found, OnPlatform, Permit, Reading, Waiting,
};
pub use connection::{Connected, RuntimeSnapshot};
pub use connectors::{Connectors, Trail, connector, set_up};
pub use delivery::{Deliveries, Delivery};
pub use error::ChannelError;
pub use history::{Remembered, Said, Wanted, What, history, remember};
pub use inbound::{Accepted, AuthorKind, Content, Inbound, InboundEvent, InboundSink, Taken};
pub use operation::{EntryKey, Envelope, Operation, Release};
pub use outbox::{
    Attempt, Begun, DeadLetterRecord, Dice, Due, Enqueued, MAX_REPLAYED, Outbox, PartView,
    QueueView, Report, Settled, SystemDice, check_same, enqueue, is_under_way,
};
pub use outgoing::{CleanText, Outgoing};
pub use reason::Reason;
pub use restored::{CameBack, settle_what_came_back};
pub use resume::ResumeState;
pub use retention::rules;
pub use store::connector_events::ConnectorEvent;
pub use store::connector_status::ConnectorStatus;
pub use store::connectors::Connector;
pub use store::outbox::Stored;
pub use supervisor::{ConnectorSupervisor, Platforms, Pulse, Statuses, SupervisorOptions};
