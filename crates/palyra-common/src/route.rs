//! What an operator says about the messages of a connector.

use std::collections::BTreeSet;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

#[cfg(feature = "openapi")]
use crate::ids::AgentId;
#[cfg(feature = "openapi")]
use crate::openapi::PlatformId;
use crate::runtime_contracts::{BroadcastStrategy, DirectMessagePolicy, InboundScope};
use crate::serde_number::whole_number;

#[cfg(test)]
mod tests;

/// The agent of whoever has named none.
const DEFAULT_AGENT: &str = "default";
/// More people or channels than anybody lists by hand.
pub const MAX_LISTED: usize = 1_000;
/// The largest text that a rule may let through.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// Which messages of a connector an agent gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(default))]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// The conversation that this is for. Nothing: all for which there is no other.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PlatformId>))]
    pub conversation: Option<String>,
    /// The agent.
    #[cfg_attr(feature = "openapi", schema(value_type = AgentId))]
    pub agent: String,
    /// Where it listens.
    pub scope: InboundScope,
    /// The channels it listens in, where `scope` asks for a list.
    #[serde(deserialize_with = "listed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<PlatformId>, max_items = 1_000))]
    pub channels: BTreeSet<String>,
    /// Who is heard. Nobody named: everyone.
    #[serde(deserialize_with = "listed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<PlatformId>, max_items = 1_000))]
    pub allow_from: BTreeSet<String>,
    /// Who is not heard.
    #[serde(deserialize_with = "listed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<PlatformId>, max_items = 1_000))]
    pub deny_from: BTreeSet<String>,
    /// What becomes of direct messages.
    pub direct_messages: DirectMessagePolicy,
    /// Whether a message in a shared channel has to name the bot.
    pub mention: Mention,
    /// What becomes of messages that address everyone.
    pub broadcast: BroadcastStrategy,
    /// The largest text in bytes.
    #[serde(deserialize_with = "whole_number")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_048_576))]
    pub max_text_bytes: usize,
    /// Whether those in a channel share a conversation with the agent.
    pub sessions: Sessions,
}

/// Whether a message in a shared channel has to name the bot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mention {
    /// It has to.
    #[default]
    Needed,
    /// It does not.
    NotNeeded,
}

/// Whether those in a channel share a conversation with the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sessions {
    /// One for all.
    #[default]
    Shared,
    /// One for each.
    PerSender,
}

impl Default for Rule {
    /// The most careful one: direct messages after pairing, nothing else.
    fn default() -> Self {
        Self {
            conversation: None,
            agent: DEFAULT_AGENT.to_owned(),
            scope: InboundScope::DmOnly,
            channels: BTreeSet::new(),
            allow_from: BTreeSet::new(),
            deny_from: BTreeSet::new(),
            direct_messages: DirectMessagePolicy::Pairing,
            mention: Mention::default(),
            broadcast: BroadcastStrategy::Deny,
            max_text_bytes: 32 << 10,
            sessions: Sessions::default(),
        }
    }
}

/// Counts what was written down, not what is left of it once repetitions are gone.
fn listed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<String>, D::Error> {
    let written = Vec::<String>::deserialize(deserializer)?;
    if written.len() > MAX_LISTED {
        return Err(D::Error::custom(format_args!("a list has at most {MAX_LISTED} entries")));
    }
    Ok(written.into_iter().collect())
}
