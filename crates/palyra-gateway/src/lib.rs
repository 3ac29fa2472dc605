//! Between channels and agents.
//!
//! - [`ChannelRouter`]: decides which messages reach an agent, in the transaction in which they come
//!   in.
//! - [`Rules`]: what it decides by, as rows.
//! - [`Responder`]: the port of whoever answers: [`Agency`] has agents do it.
//! - [`Engine`]: works on runs. [`Sessions`], [`Approvals`], [`Agents`]: what people ask about them and
//!   decide. [`Surfaces`]: what agents show, and what people do on it. [`Streams`]: watching.
//! - [`Replay`], [`Comparison`]: whether a tape is what would be decided today, and where two of them
//!   part. [`exported`] and [`replay_file`]: a tape that leaves its database.
//! - [`acp`]: the commands of the Agent Control Protocol, and who carries them out.
//! - [`Auxiliary`]: side calls to models under a strict contract, which somebody may [`ask`] for.
//! - [`OntoTapes`]: tells runs what became of their messages.
//! - [`Telemetry`]: what people did on surfaces, without a text of theirs.
//! - [`Thinker`], [`Tool`]: what an agent thinks and acts with.

#![warn(missing_docs)]

pub mod acp;
mod actor;
mod agents;
mod approvals;
mod auxiliary;
mod brought;
mod compare;
mod counts;
mod deliveries;
mod engine;
mod error;
mod export;
mod feed;
mod history;
mod lineage;
pub mod metrics;
mod replay;
mod reply;
mod responder;
mod restored;
mod retention;
mod router;
mod rules;
mod sessions;
mod shown;
mod store;
mod streams;
mod surfaces;
mod tapes;
mod telemetry;
mod thinker;
mod tool;
mod tools;

pub use actor::Actor;
pub use agents::{Agents, DEFAULT, default_agent};
pub use approvals::{Answer, Approvals, Verdict};
pub use auxiliary::{Auxiliary, Outcome, Wanted, ask};
pub use brought::Bring;
pub use compare::{Comparison, Side};
pub use counts::Counts;
pub use deliveries::OntoTapes;
pub use engine::{
    Asked, Engine, EngineOptions, Hands, NewInput, Place, Signal, Submitted, Thinker, Thought,
    ThoughtError, call_name, submit,
};
pub use error::GatewayError;
pub use export::{TapeFileError, exported, replay_file};
pub use history::SessionSaid;
pub use replay::{Replay, Texts};
pub use reply::{OF_RUNS, reply_envelope, run_of};
pub use responder::{Agency, Responder, Routed};
pub use restored::{RunsCameBack, pause_what_came_back};
pub use retention::rules as retention_rules;
pub use router::{ChannelRouter, Preview};
pub use rules::{RuleError, Rules, add_rule};
pub use sessions::{
    MAX_INPUT_BYTES, NO_CURSOR, Sessions, Title, Wish, begin as begin_session, check_text,
};
pub use shown::shown_approval;
pub use store::agents::Agent;
pub use store::auxiliary_tasks::AuxiliaryTask;
pub use store::router_rules::StoredRule;
pub use store::runs::Run;
pub use store::sessions::Session;
pub use store::surfaces::StoredSurface;
pub use store::tape::TapeLine;
pub use streams::{Follow, Streams};
pub use surfaces::Surfaces;
pub use telemetry::{Recorded, Telemetry, TelemetryCounted};
pub use thinker::ModelThinker;
pub use tool::{
    ArgumentError, Arguments, Delegated, Invocation, Tool, ToolDone, ToolFault, ToolInfo, Toolbox,
    Weighed, payload_sha256,
};
pub use tools::{FetchMethod, Fetched, Fetcher, ToolOptions, built_in};
