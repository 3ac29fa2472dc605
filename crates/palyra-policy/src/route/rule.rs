use palyra_common::route::{Mention, Rule};
use palyra_common::runtime_contracts::{BroadcastStrategy, DirectMessagePolicy, InboundScope};

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
            !listens && everyone && rule.direct_messages != DirectMessagePolicy::Allow,
            "nobody is heard by it: name those who are in allow_from, or set direct_messages=allow for \
             everybody who writes to it directly",
        ),
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
