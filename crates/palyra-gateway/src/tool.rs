//! What agents act with. A tool is one file that implements [`Tool`] and one line where it is
//! registered.

mod arguments;
mod registry;

use futures_util::future::BoxFuture;
use palyra_common::a2ui::Message;
use palyra_common::ids::{AgentId, RunId, SessionId};
use palyra_common::runtime_contracts::{RiskLevel, ToolEffect, ToolReach, Trust};
use palyra_common::tape::Binding;
use palyra_connector_core::Envelope;
use serde_json::Value;

use crate::store::sessions::Session;

pub use arguments::{ArgumentError, Arguments, payload_sha256};
pub use registry::Toolbox;

/// What a model is told about a tool.
#[derive(Debug, Clone)]
pub struct ToolInfo {
    /// Its name: `fs.read`.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The JSON Schema of its arguments, an object.
    pub input_schema: Value,
}

/// A call, with its arguments checked against the schema.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The run that makes it.
    pub run: RunId,
    /// Its name within the run.
    pub call: String,
    /// The conversation.
    pub session: SessionId,
    /// The whole of it, for tools that answer there.
    pub place: Session,
    /// The agent.
    pub agent: AgentId,
    /// How many runs stand above this one.
    pub depth: u32,
    /// The arguments.
    pub arguments: Value,
    /// What it was decided on, for a tool to look at once more; nothing while it is weighed.
    pub bindings: Vec<Binding>,
}

/// What decides whether a call is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighed {
    /// What it does to the world.
    pub effect: ToolEffect,
    /// How bad a mistake would be.
    pub risk: RiskLevel,
    /// What it touches.
    pub reach: ToolReach,
    /// What it does, in words for a human.
    pub summary: String,
    /// What must stay as it is until the call is made.
    pub bindings: Vec<Binding>,
    /// Whether all that it does is in what [`Tool::run`] gives, and done in the transaction that writes
    /// the result down: a call that was interrupted before has done nothing.
    pub with_result: bool,
}

/// What came of a call.
#[derive(Debug, Clone)]
pub struct ToolDone {
    /// What the model is told.
    pub content: String,
    /// How far that is trusted.
    pub trust: Trust,
    /// Messages that go out, in the transaction that writes the result down.
    pub sends: Vec<Envelope>,
    /// What is shown in the session, in the same way.
    pub shows: Vec<Message>,
    /// A run that is to do the work, in the same way; its answer is then the result.
    pub delegated: Option<Delegated>,
}

/// Work for another agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegated {
    /// Who is to do it.
    pub agent: AgentId,
    /// What.
    pub task: String,
}

impl ToolDone {
    /// A result that nobody outside vouches for but ourselves.
    pub fn own(content: impl Into<String>) -> Self {
        Self::new(content, Trust::Operator)
    }

    /// A result that holds what others have said.
    pub fn untrusted(content: impl Into<String>) -> Self {
        Self::new(content, Trust::Untrusted)
    }

    fn new(content: impl Into<String>, trust: Trust) -> Self {
        Self {
            content: content.into(),
            trust,
            sends: Vec::new(),
            shows: Vec::new(),
            delegated: None,
        }
    }
}

/// Why a call came to nothing, in words for the model: what is wrong, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolFault(pub String);

impl ToolFault {
    /// A fault in words.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// Something an agent can do.
///
/// *Ordering*: `weigh` comes before `run`, and again right before it; what it says then must be what
/// it said when the call was decided. *Idempotency*: as the effect says. *Cancellation*: dropping the
/// future interrupts the call; what it has done until then it has done.
pub trait Tool: Send + Sync {
    /// What a model is told about it.
    fn info(&self) -> ToolInfo;

    /// What a call would do. Changes nothing.
    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>>;

    /// Makes the call.
    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>>;
}
