use std::collections::BTreeSet;

use palyra_common::runtime_contracts::{BroadcastStrategy, DirectMessagePolicy, InboundScope};
use serde::{Deserialize, Serialize};

/// Which messages of a connector an agent gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// The conversation that this is for. Nothing: all for which there is no other.
    pub conversation: Option<String>,
    /// The agent.
    pub agent: String,
    /// Where it listens.
    pub scope: InboundScope,
    /// The channels it listens in, where `scope` asks for a list.
    pub channels: BTreeSet<String>,
    /// Who is heard. Nobody named: everyone.
    pub allow_from: BTreeSet<String>,
    /// Who is not heard.
    pub deny_from: BTreeSet<String>,
    /// What becomes of direct messages.
    pub direct_messages: DirectMessagePolicy,
    /// Whether a message in a shared channel has to name the bot.
    pub mention: Mention,
    /// What becomes of messages that address everyone.
    pub broadcast: BroadcastStrategy,
    /// The largest text in bytes.
    pub max_text_bytes: usize,
    /// Whether those in a channel share a conversation with the agent.
    pub sessions: Sessions,
}

/// Whether a message in a shared channel has to name the bot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[serde(rename_all = "snake_case")]
pub enum Sessions {
    /// One for all.
    #[default]
    Shared,
    /// One for each.
    PerSender,
}

/// The agent of whoever has named none.
pub const DEFAULT_AGENT: &str = "default";

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

/// The rule for a conversation: its own, or else the one for all.
pub(super) fn covering<'a>(rules: &'a [Rule], conversation: &str) -> Option<&'a Rule> {
    let own = rules.iter().find(|rule| rule.conversation.as_deref() == Some(conversation));
    own.or_else(|| rules.iter().find(|rule| rule.conversation.is_none()))
}

/// The id itself, whichever way it was written: `123`, `discord:123` and `discord:user:123` are
/// the same.
pub fn canonical_id<'a>(platform: &str, noun: &str, written: &'a str) -> &'a str {
    let trimmed = written.trim();
    let after = |text: &'a str, word: &str| text.strip_prefix(word)?.strip_prefix(':');
    let id = after(trimmed, platform).unwrap_or(trimmed);
    after(id, noun).unwrap_or(id)
}

/// What an operator should know about a rule, in words.
pub fn warnings(rule: &Rule) -> Vec<&'static str> {
    let listens = rule.scope != InboundScope::DmOnly;
    let everyone = rule.allow_from.is_empty();
    let all = [
        (
            rule.scope == InboundScope::OpenGuildChannels
                && everyone
                && rule.mention == Mention::NotNeeded,
            "it answers everybody in every channel, whether they speak to it or not",
        ),
        (
            rule.direct_messages == DirectMessagePolicy::Allow && everyone,
            "everybody can write to it directly without being let in first",
        ),
        (
            rule.scope == InboundScope::AllowlistedGuildChannels && rule.channels.is_empty(),
            "it is to listen in listed channels, and none is listed",
        ),
        (
            rule.scope != InboundScope::AllowlistedGuildChannels && !rule.channels.is_empty(),
            "its list of channels is not used, because its scope asks for none",
        ),
        (
            !rule.allow_from.is_disjoint(&rule.deny_from),
            "somebody is allowed and denied: they are denied",
        ),
        (
            listens && rule.broadcast == BroadcastStrategy::Allow,
            "whoever addresses everyone addresses it too",
        ),
    ];
    all.into_iter().filter_map(|(when, what)| when.then_some(what)).collect()
}
