use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ConversationId, EnvelopeId, NativeMessageId};
use crate::runtime_contracts::{InboundState, OutboxState, RouteReason};
use crate::time::Timestamp;

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewMessage {
    /// Where to.
    pub conversation: ConversationId,
    /// What. Longer than one message of the platform, it goes out in several.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 32_000))]
    pub text: String,
    /// Names it: sent again under the same name, it is one message. Without, it is given a name. Names
    /// that begin with `run-` are taken by agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<EnvelopeId>,
}

/// Where a message to be sent is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessageState {
    /// Its name.
    pub envelope: EnvelopeId,
    /// Its parts, in order; none while an agent still works on it.
    pub parts: Vec<PartState>,
}

/// Where a part of a message is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PartState {
    /// Which part, from 0.
    pub part: u32,
    /// Where it is in its life.
    pub state: OutboxState,
    /// How many real tries it had.
    pub attempts: u32,
    /// The name that the platform gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
    /// Why the last try failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
}

/// A message as if somebody had sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TestMessage {
    /// What.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 32_000))]
    pub text: String,
    /// In which conversation; without, one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// Names it: handed in again under the same name, it is one message. Without, it is given a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<NativeMessageId>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestResult {
    /// Its name.
    pub message: String,
    /// Whether an agent has it.
    pub routed: bool,
    /// Why, or why not. Absent if that is decided later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<RouteReason>,
    /// The name of the answer. Absent if there is to be none, or that is decided later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<EnvelopeId>,
    /// The conversation.
    pub conversation: ConversationId,
}

/// Something that was said in a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SaidMessage {
    /// When it came in or was delivered.
    pub at: Timestamp,
    /// Its name on the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
    /// Who said it. Absent: we did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// What was said, if it is something said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What was done, if it is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Value>,
    /// What became of it, if it came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<InboundState>,
    /// Why an agent has it, or has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<RouteReason>,
}
