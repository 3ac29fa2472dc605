use std::collections::BTreeSet;

use palyra_common::runtime_contracts::{
    BroadcastStrategy, DirectMessagePolicy, InboundScope, RouteReason,
};
use proptest::prelude::*;

use super::*;

const SHARED: Place<'_> = Place::Shared { conversation: "general" };
const DIRECT: Place<'_> = Place::Direct { conversation: "dm-ann" };

const MESSAGE: Message<'_> = Message {
    place: SHARED,
    thread: None,
    sender: "ann",
    author: Author::Person,
    pairing: Pairing::None,
    text_bytes: 5,
    attachments: 0,
    mention: Mentioned::Yes,
    audience: Audience::Somebody,
};

fn open() -> Rule {
    Rule {
        scope: InboundScope::OpenGuildChannels,
        direct_messages: DirectMessagePolicy::Allow,
        broadcast: BroadcastStrategy::Allow,
        ..Rule::default()
    }
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn check(message: &Message<'_>, rule: &Rule, expected: RouteReason) {
    let decision = route("echo:default", Switch::On, message, std::slice::from_ref(rule));
    assert_eq!(decision.reason(), expected, "{decision:?}");
}

#[test]
fn the_first_question_that_says_no_is_the_reason() {
    // Everything is wrong with it; each answer put right brings up the next reason.
    let mut message = Message {
        author: Author::Own,
        text_bytes: 0,
        mention: Mentioned::No,
        audience: Audience::Everybody,
        ..MESSAGE
    };
    let mut rule = Rule {
        deny_from: names(&["ann"]),
        allow_from: names(&["bob"]),
        max_text_bytes: 4,
        ..Rule::default()
    };
    let off = route("echo:default", Switch::Off, &message, &[rule.clone()]);
    assert_eq!(off, Decision::Ignore(RouteReason::ConnectorDisabled));
    assert_eq!(route("e", Switch::On, &message, &[]), Decision::Ignore(RouteReason::NoRule));
    check(&message, &rule, RouteReason::OutOfScope);
    rule.scope = InboundScope::AllowlistedGuildChannels;
    check(&message, &rule, RouteReason::OutOfScope);
    rule.channels = names(&["general"]);
    check(&message, &rule, RouteReason::OwnMessage);
    message.author = Author::Bot;
    check(&message, &rule, RouteReason::BotAuthor);
    message.author = Author::Person;
    check(&message, &rule, RouteReason::Empty);
    message.text_bytes = 5;
    check(&message, &rule, RouteReason::TooLarge);
    rule.max_text_bytes = 5;
    check(&message, &rule, RouteReason::SenderDenied);
    rule.deny_from.clear();
    check(&message, &rule, RouteReason::SenderNotAllowed);
    message.pairing = Pairing::Granted;
    check(&message, &rule, RouteReason::MentionMissing);
    rule.mention = Mention::NotNeeded;
    check(&message, &rule, RouteReason::BroadcastDenied);
    rule.broadcast = BroadcastStrategy::MentionOnly;
    check(&message, &rule, RouteReason::BroadcastDenied);
    rule.broadcast = BroadcastStrategy::Allow;
    check(&message, &rule, RouteReason::MentionNotNeeded);
    rule.broadcast = BroadcastStrategy::MentionOnly;
    message.mention = Mentioned::Yes;
    check(&message, &rule, RouteReason::Mentioned);
}

#[test]
fn an_attachment_alone_is_something() {
    check(&Message { text_bytes: 0, attachments: 1, ..MESSAGE }, &open(), RouteReason::Mentioned);
}

#[test]
fn direct_messages_follow_their_own_policy() {
    let direct = Message { place: DIRECT, mention: Mentioned::No, ..MESSAGE };
    let with = |direct_messages, allow: &[&str]| Rule {
        direct_messages,
        allow_from: names(allow),
        ..Rule::default()
    };
    let paired = Message { pairing: Pairing::Granted, ..direct };
    check(&direct, &with(DirectMessagePolicy::Deny, &["ann"]), RouteReason::DirectDenied);
    check(&direct, &with(DirectMessagePolicy::Allow, &[]), RouteReason::Direct);
    check(&direct, &with(DirectMessagePolicy::Allow, &["bob"]), RouteReason::SenderNotAllowed);
    check(&direct, &with(DirectMessagePolicy::Pairing, &["bob"]), RouteReason::PairingNeeded);
    check(&direct, &with(DirectMessagePolicy::Pairing, &[]), RouteReason::PairingNeeded);
    check(&direct, &with(DirectMessagePolicy::Pairing, &["ann"]), RouteReason::Direct);
    check(&paired, &with(DirectMessagePolicy::Pairing, &["bob"]), RouteReason::Direct);
    check(&paired, &with(DirectMessagePolicy::Deny, &[]), RouteReason::DirectDenied);
}

#[test]
fn the_rule_of_the_conversation_comes_first() {
    let own = Rule { conversation: Some("general".into()), agent: "ops".into(), ..open() };
    let rules = [open(), own];
    let Decision::Route { agent, .. } = route("echo:default", Switch::On, &MESSAGE, &rules) else {
        panic!("not routed");
    };
    assert_eq!(agent, "ops");
}

#[test]
fn sessions_are_told_apart() {
    let key = |message: &Message<'_>, sessions| {
        let rule = Rule { sessions, ..open() };
        match route("echo:default", Switch::On, message, &[rule]) {
            Decision::Route { session_key, .. } => session_key,
            other => panic!("{other:?}"),
        }
    };
    let threaded = Message { thread: Some("t1"), ..MESSAGE };
    let keys = [
        key(&MESSAGE, Sessions::Shared),
        key(&MESSAGE, Sessions::PerSender),
        key(&threaded, Sessions::Shared),
        key(&threaded, Sessions::PerSender),
    ];
    assert_eq!(
        keys,
        [
            "echo:default/7:general",
            "echo:default/7:general/sender:3:ann",
            "echo:default/7:general/thread:2:t1",
            "echo:default/7:general/thread:2:t1/sender:3:ann",
        ]
    );
}

#[test]
fn an_id_is_the_same_however_it_is_written() {
    for written in ["123", " 123 ", "discord:123", "discord:user:123", "user:123"] {
        assert_eq!(canonical_id("discord", "user", written), "123");
    }
    assert_eq!(canonical_id("discord", "user", "discordant"), "discordant");
}

prop_compose! {
    fn rules()(
        scope in prop::sample::select(InboundScope::ALL),
        direct_messages in prop::sample::select(DirectMessagePolicy::ALL),
        broadcast in prop::sample::select(BroadcastStrategy::ALL),
        mention in prop::sample::select(vec![Mention::Needed, Mention::NotNeeded]),
        listed: (bool, bool, bool),
    ) -> Rule {
        let of = |there, name| if there { names(&[name]) } else { BTreeSet::new() };
        Rule {
            scope, direct_messages, broadcast, mention,
            channels: of(listed.0, "general"),
            allow_from: of(listed.1, "ann"),
            deny_from: of(listed.2, "ann"),
            ..Rule::default()
        }
    }
}

proptest! {
    #[test]
    fn no_rule_lets_a_bot_or_a_denied_sender_in(
        rule in rules(), direct: bool, own: bool, mentioned: bool,
    ) {
        let place = if direct { DIRECT } else { SHARED };
        let mention = if mentioned { Mentioned::Yes } else { Mentioned::No };
        let author = if own { Author::Own } else { Author::Bot };
        let message = Message { place, mention, author, ..MESSAGE };
        let decision = route("e", Switch::On, &message, std::slice::from_ref(&rule));
        prop_assert!(matches!(decision, Decision::Ignore(_)), "{:?}", decision);
        let message = Message { author: Author::Person, pairing: Pairing::Granted, ..message };
        let denied = Rule { deny_from: names(&["ann"]), ..rule };
        let decision = route("e", Switch::On, &message, &[denied]);
        prop_assert!(matches!(decision, Decision::Ignore(_)), "{:?}", decision);
    }

    #[test]
    fn two_conversations_never_share_a_session(
        one in "[a-z/:0-9]{1,8}", other in "[a-z/:0-9]{1,8}",
        thread in prop::option::of("[a-z/:0-9]{1,6}"), sender in "[a-z/:0-9]{1,6}",
    ) {
        let rule = Rule { sessions: Sessions::PerSender, ..open() };
        let key = |conversation: &str, thread: Option<&str>| {
            let place = Place::Shared { conversation };
            let message = Message { place, thread, sender: &sender, ..MESSAGE };
            match route("e", Switch::On, &message, std::slice::from_ref(&rule)) {
                Decision::Route { session_key, .. } => session_key,
                other => panic!("{other:?}"),
            }
        };
        let same = one == other && thread.is_none();
        prop_assert_eq!(key(&one, thread.as_deref()) == key(&other, None), same);
    }
}

#[test]
fn a_careful_rule_has_no_warning_and_each_careless_one_has_its_own() {
    let list = |id: &str| BTreeSet::from([id.to_owned()]);
    let careful = Rule { allow_from: list("bob"), ..Rule::default() };
    assert_eq!(warnings(&careful), [""; 0]);
    let listed = InboundScope::AllowlistedGuildChannels;
    let careless = [
        Rule {
            scope: InboundScope::OpenGuildChannels,
            mention: Mention::NotNeeded,
            ..Rule::default()
        },
        Rule { direct_messages: DirectMessagePolicy::Allow, ..Rule::default() },
        Rule::default(),
        Rule { scope: listed, ..Rule::default() },
        Rule { channels: list("general"), ..careful },
        Rule { allow_from: list("ann"), deny_from: list("ann"), ..Rule::default() },
        Rule {
            scope: listed,
            channels: list("general"),
            broadcast: BroadcastStrategy::Allow,
            ..Rule::default()
        },
    ];
    let mut told: Vec<_> = careless.iter().flat_map(warnings).collect();
    assert_eq!(told.len(), careless.len(), "{told:?}");
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len(), careless.len(), "{told:?}");
}
