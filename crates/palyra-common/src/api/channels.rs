use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ConnectorId, ConversationId, EnvelopeId, EventId};
use crate::queue::QueueSettings;
use crate::runtime_contracts::{
    ConnectorContact, ConnectorEventKind, ConnectorLiveness, ConnectorReadiness,
    ConnectorSaturation, DeadLetterReason, OutboxState, RetryClass,
};
use crate::serde_number::whole;
use crate::serde_object::{optional, or_default};
use crate::time::{Duration, Timestamp};

/// A channel in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Channel {
    /// Its name.
    pub id: ConnectorId,
    /// Which platform it speaks to.
    pub kind: String,
    /// Whether it is to run.
    pub enabled: bool,
    /// Whether it has what it needs.
    pub readiness: ConnectorReadiness,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness_reason: Option<String>,
    /// What its task does.
    pub liveness: ConnectorLiveness,
    /// Whether its platform is heard.
    pub contact: ConnectorContact,
    /// How its queue does.
    pub saturation: ConnectorSaturation,
    /// What keeps messages from going out as they should, the gravest first.
    pub reasons: Vec<String>,
    /// Messages that wait to go out, or are going out.
    pub waiting: u64,
    /// Messages that were given up, counted up to 10,000.
    pub dead: u64,
    /// Messages of which nobody knows whether they arrived, counted up to 10,000.
    pub unknown: u64,
}

/// A channel with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChannelDetail {
    /// What a list says of it.
    #[serde(flatten)]
    pub channel: Channel,
    /// Its queue.
    pub queue: ChannelQueue,
    /// Its connection.
    pub connection: ChannelConnection,
    /// What it is set to. Secrets are not among it.
    pub settings: Value,
    /// How its queue is set.
    pub queue_settings: QueueSettings,
    /// Grows with each change by an operator.
    pub version: i64,
    /// When it was set up.
    pub created_at: Timestamp,
}

/// What waits in a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChannelQueue {
    /// Conversations in which something waits.
    pub lanes: u64,
    /// Attempts under way.
    pub sending: u64,
    /// Messages that wait for an approval, counted up to 10,000.
    pub held: u64,
    /// Parts of messages that wait because nobody knows whether the part before them arrived, counted
    /// up to 10,000.
    pub parked: u64,
    /// Conversations whose first message failed and is tried again.
    pub retrying: u64,
    /// Conversations that wait because the platform asked for it.
    pub rate_limited: u64,
    /// Until when, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limited_until: Option<Timestamp>,
    /// When the longest waiting first message of a conversation was enqueued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Timestamp>,
    /// Since when an operator keeps it from going out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_at: Option<Timestamp>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_reason: Option<String>,
}

/// How a channel is connected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChannelConnection {
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_since: Option<Timestamp>,
    /// When the platform last sent anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_at: Option<Timestamp>,
    /// When the platform last answered a heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_ack_at: Option<Timestamp>,
    /// How long that took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_latency: Option<Duration>,
    /// How often it is to answer one. Absent: there are no heartbeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acks_every: Option<Duration>,
    /// Since when it has not, though there is a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Timestamp>,
    /// How often the connection was made anew.
    pub reconnects: u64,
    /// How often it was taken up again where it was lost.
    pub resumes: u64,
    /// How often the task was started again since this node runs it.
    pub restarts: u64,
    /// Why it last ended without being asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error_at: Option<Timestamp>,
    /// The run of the node that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// A channel to be set up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewChannel {
    /// Its name, as `echo:second`: the kind, a colon, and what tells it from others.
    pub id: ConnectorId,
    /// What it is set to.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub settings: Value,
    /// How its queue is set; what is not said is as usual.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<QueueSettings>))]
    pub queue: QueueSettings,
}

/// Other settings for a channel. What is not said stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChannelSettings {
    /// What it is set to, as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub settings: Option<Value>,
    /// How its queue is set, as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional")]
    pub queue: Option<QueueSettings>,
}

/// Why a queue is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PauseReason {
    /// In the operator's words.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 500))]
    pub reason: String,
}

/// How many a change concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Changed {
    /// How many.
    pub changed: u64,
}

/// One thing that happened to a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChannelEvent {
    /// Its id.
    pub id: EventId,
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: ConnectorEventKind,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A message in the outbox that waits for somebody to decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OutboxEntry {
    /// The message.
    pub envelope: EnvelopeId,
    /// Which part of it, from 0.
    pub part: u32,
    /// Where to.
    pub conversation: ConversationId,
    /// Where it is in its life.
    pub state: OutboxState,
    /// How many real tries it had.
    pub attempts: u32,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<DeadLetterReason>,
    /// Why the last try failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<RetryClass>,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// What was to be done. Absent for whoever may not read messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Value>,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When it last changed.
    pub changed_at: Timestamp,
}

/// A message that was given up, whole or in part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLetter {
    /// The message.
    pub envelope: EnvelopeId,
    /// Its parts that were given up, in order.
    pub parts: Vec<OutboxEntry>,
}

/// Which dead letters to replay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplayMany {
    /// Only those that were given up for this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<DeadLetterReason>,
    /// At most so many, the oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000))]
    pub limit: Option<u32>,
}

/// Where a message is after a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Decided {
    /// The message.
    pub envelope: EnvelopeId,
    /// Which part of it.
    pub part: u32,
    /// Where it is.
    pub state: OutboxState,
}

/// What is to become of a message of which nobody knows whether it arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ResolveUnknown {
    /// What.
    pub resolution: UnknownResolution,
}

/// What a human has found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnknownResolution {
    /// It did not arrive: send it again.
    Resend,
    /// It arrived.
    MarkDelivered,
}
