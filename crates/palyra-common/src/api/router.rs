use serde::{Deserialize, Serialize};

use crate::ids::{ConnectorId, ConversationId, RuleId};
use crate::route::Rule;
use crate::runtime_contracts::RouteReason;
use crate::serde_number::whole_version;
use crate::serde_object::{optional, or_default};
use crate::time::Timestamp;

/// A rule of the router.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RouterRule {
    /// Its id.
    pub id: RuleId,
    /// For which channel.
    pub channel: ConnectorId,
    /// What it says.
    pub rule: Rule,
    /// Grows with each change.
    pub version: i64,
    /// What an operator should know about it.
    pub warnings: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub changed_at: Timestamp,
}

/// A rule to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewRule {
    /// For which channel.
    pub channel: ConnectorId,
    /// What it says; what is not said is as careful as can be.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Rule>, required = true))]
    pub rule: Rule,
}

/// What a rule says from now on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleChange {
    /// As a whole.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Rule>, required = true))]
    pub rule: Rule,
    /// Only if it is at this version.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_version")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub version: Option<i64>,
}

/// A message that nobody has sent, to see what would become of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RoutePreview {
    /// Through which channel.
    pub channel: ConnectorId,
    /// Where.
    pub conversation: ConversationId,
    /// By whom, by the platform's name.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 128))]
    pub sender: String,
    /// What.
    #[cfg_attr(feature = "openapi", schema(max_length = 32_000))]
    pub text: String,
    /// Whether only the sender and the bot are there.
    #[serde(default)]
    pub direct: bool,
    /// Whether it names the bot.
    #[serde(default)]
    pub mentions_bot: bool,
    /// Whether it addresses everyone.
    #[serde(default)]
    pub addresses_all: bool,
    /// Whether another program has sent it.
    #[serde(default)]
    pub bot: bool,
    /// By this rule instead of those that there are.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional")]
    pub rule: Option<Rule>,
}

/// What would become of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RouteDecision {
    /// Whether an agent would have it.
    pub routed: bool,
    /// Why, or why not.
    pub reason: RouteReason,
    /// Which agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The conversation that it would continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}
