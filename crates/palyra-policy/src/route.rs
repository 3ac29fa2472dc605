//! Whether a message reaches an agent, and why.
//!
//! The order of the questions is fixed, and the first that says no is the reason that is shown.
//! What the platform and the bot say themselves is left out before anything else is looked at, so
//! loops are impossible.

mod rule;

#[cfg(test)]
mod tests;

use palyra_common::route::{Mention, Rule, Sessions};
use palyra_common::runtime_contracts::{
    BroadcastStrategy, DirectMessagePolicy, InboundScope, RouteReason,
};

pub use rule::{canonical_id, warnings};

/// What is known of a message when it is routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Where it was said.
    pub place: Place<'a>,
    /// The thread within that, if any.
    pub thread: Option<&'a str>,
    /// Who said it.
    pub sender: &'a str,
    /// What kind of author that is.
    pub author: Author,
    /// Whether an operator has approved the sender.
    pub pairing: Pairing,
    /// How large it is, in bytes of text.
    pub text_bytes: usize,
    /// How many attachments it has.
    pub attachments: usize,
    /// Whether it names the bot. An address to everyone or to a role does not.
    pub mention: Mentioned,
    /// Whether it addresses everyone, everyone who is online, or a role.
    pub audience: Audience,
}

/// Where a message was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// Between its sender and the bot.
    Direct {
        /// The conversation.
        conversation: &'a str,
    },
    /// Where others listen.
    Shared {
        /// The channel.
        conversation: &'a str,
    },
}

impl<'a> Place<'a> {
    /// The conversation, of either kind.
    pub fn conversation(self) -> &'a str {
        match self {
            Self::Direct { conversation } | Self::Shared { conversation } => conversation,
        }
    }
}

/// What kind of author a message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A person.
    Person,
    /// This bot.
    Own,
    /// Another program.
    Bot,
}

/// Whether an operator has approved a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// There is a grant.
    Granted,
    /// There is none.
    None,
}

/// Whether a message names the bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mentioned {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// Whom a message addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Nobody in particular, or single people.
    Somebody,
    /// Everyone, everyone who is online, or a role.
    Everybody,
}

/// What becomes of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// An agent gets it.
    Route {
        /// Which one.
        agent: String,
        /// The conversation it continues.
        session_key: String,
        /// Why.
        reason: RouteReason,
    },
    /// Its sender is offered to be paired.
    Pair,
    /// Nobody gets it.
    Ignore(RouteReason),
}

impl Decision {
    /// Why.
    pub fn reason(&self) -> RouteReason {
        match self {
            Self::Route { reason, .. } | Self::Ignore(reason) => *reason,
            Self::Pair => RouteReason::PairingNeeded,
        }
    }
}

/// Whether the connector of a message is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// What becomes of `message`, which came in through `connector`. `rules` are those of that
/// connector; the one for the conversation comes before the one for all of them.
pub fn route(connector: &str, switch: Switch, message: &Message<'_>, rules: &[Rule]) -> Decision {
    if switch == Switch::Off {
        return Decision::Ignore(RouteReason::ConnectorDisabled);
    }
    let Some(rule) = rule::covering(rules, message.place.conversation()) else {
        return Decision::Ignore(RouteReason::NoRule);
    };
    match refusal(message, rule) {
        Err(Refused::Pair) => Decision::Pair,
        Err(Refused::Because(reason)) => Decision::Ignore(reason),
        Ok(reason) => Decision::Route {
            agent: rule.agent.clone(),
            session_key: session_key(connector, message, rule.sessions),
            reason,
        },
    }
}

enum Refused {
    Because(RouteReason),
    Pair,
}

impl From<RouteReason> for Refused {
    fn from(reason: RouteReason) -> Self {
        Self::Because(reason)
    }
}

/// The questions, in their order.
fn refusal(message: &Message<'_>, rule: &Rule) -> Result<RouteReason, Refused> {
    in_scope(message, rule)?;
    match message.author {
        Author::Own => return Err(RouteReason::OwnMessage.into()),
        Author::Bot => return Err(RouteReason::BotAuthor.into()),
        Author::Person => {}
    }
    if message.text_bytes == 0 && message.attachments == 0 {
        return Err(RouteReason::Empty.into());
    }
    if message.text_bytes > rule.max_text_bytes {
        return Err(RouteReason::TooLarge.into());
    }
    let listed = sender_is_listed(message, rule)?;
    let reason = match message.place {
        Place::Direct { .. } => direct(rule, listed)?,
        Place::Shared { .. } => shared(message, rule)?,
    };
    match (message.audience, rule.broadcast, message.mention) {
        (Audience::Somebody, _, _)
        | (Audience::Everybody, BroadcastStrategy::Allow, _)
        | (Audience::Everybody, BroadcastStrategy::MentionOnly, Mentioned::Yes) => Ok(reason),
        (Audience::Everybody, BroadcastStrategy::Deny, _)
        | (Audience::Everybody, BroadcastStrategy::MentionOnly, Mentioned::No) => {
            Err(RouteReason::BroadcastDenied.into())
        }
    }
}

fn in_scope(message: &Message<'_>, rule: &Rule) -> Result<(), RouteReason> {
    match (message.place, rule.scope) {
        (Place::Direct { .. }, _) | (Place::Shared { .. }, InboundScope::OpenGuildChannels) => {
            Ok(())
        }
        (Place::Shared { conversation }, InboundScope::AllowlistedGuildChannels)
            if rule.channels.contains(conversation) =>
        {
            Ok(())
        }
        (Place::Shared { .. }, InboundScope::AllowlistedGuildChannels | InboundScope::DmOnly) => {
            Err(RouteReason::OutOfScope)
        }
    }
}

/// Whether somebody vouches for the sender.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    Yes,
    No,
}

fn sender_is_listed(message: &Message<'_>, rule: &Rule) -> Result<Listed, RouteReason> {
    if rule.deny_from.contains(message.sender) {
        return Err(RouteReason::SenderDenied);
    }
    if rule.allow_from.contains(message.sender) || message.pairing == Pairing::Granted {
        return Ok(Listed::Yes);
    }
    let asks_to_pair = matches!(message.place, Place::Direct { .. })
        && rule.direct_messages == DirectMessagePolicy::Pairing;
    // An empty list is everyone; a direct message may go on to pairing.
    if rule.allow_from.is_empty() || asks_to_pair {
        return Ok(Listed::No);
    }
    Err(RouteReason::SenderNotAllowed)
}

fn direct(rule: &Rule, listed: Listed) -> Result<RouteReason, Refused> {
    match (rule.direct_messages, listed) {
        (DirectMessagePolicy::Deny, _) => Err(RouteReason::DirectDenied.into()),
        (DirectMessagePolicy::Pairing, Listed::No) => Err(Refused::Pair),
        (DirectMessagePolicy::Pairing, Listed::Yes) | (DirectMessagePolicy::Allow, _) => {
            Ok(RouteReason::Direct)
        }
    }
}

fn shared(message: &Message<'_>, rule: &Rule) -> Result<RouteReason, RouteReason> {
    match (message.mention, rule.mention) {
        (Mentioned::Yes, _) => Ok(RouteReason::Mentioned),
        (Mentioned::No, Mention::NotNeeded) => Ok(RouteReason::MentionNotNeeded),
        (Mentioned::No, Mention::Needed) => Err(RouteReason::MentionMissing),
    }
}

/// The conversation that a message continues. Lengths keep two parts from reading as one.
fn session_key(connector: &str, message: &Message<'_>, sessions: Sessions) -> String {
    let conversation = message.place.conversation();
    let mut key = format!("{connector}/{}:{conversation}", conversation.len());
    if let Some(thread) = message.thread {
        key.push_str(&format!("/thread:{}:{thread}", thread.len()));
    }
    match sessions {
        Sessions::Shared => {}
        Sessions::PerSender => {
            key.push_str(&format!("/sender:{}:{}", message.sender.len(), message.sender));
        }
    }
    key
}
