//! Rules as rows.

use palyra_common::error::ErrorCode;
use palyra_common::route::Rule;
use palyra_storage::events;
use serde_json::json;

use crate::world::{World, connector, on_every_engine};

on_every_engine!(
    ids_are_kept_as_the_platform_writes_them,
    a_place_has_one_rule,
    who_has_seen_another_version_changes_nothing,
    changes_of_rules_are_told,
    what_makes_no_sense_is_refused,
    a_list_goes_on_where_it_ended,
);

async fn ids_are_kept_as_the_platform_writes_them(world: World) {
    let rule = Rule {
        conversation: Some("echo:channel:7".into()),
        allow_from: ["123".into(), "echo:123".into(), "echo:user:123".into()].into(),
        ..Rule::default()
    };
    let stored = world.rules.add(&connector(), rule, None).await.unwrap();
    assert_eq!(stored.rule.conversation.as_deref(), Some("7"));
    assert_eq!(stored.rule.allow_from, ["123".to_owned()].into());
    assert_eq!(world.rules.get(stored.id).await.unwrap(), stored);
}

async fn a_place_has_one_rule(world: World) {
    let first = world.rules.add(&connector(), Rule::default(), None).await.unwrap();
    let second = world.rules.add(&connector(), Rule::default(), None).await.unwrap_err();
    assert_eq!(second.code(), ErrorCode::CommonConflict);
    let nobody = "nobody".parse().unwrap();
    let missing = world.rules.add(&nobody, Rule::default(), None).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::CommonNotFound);
    world.rules.remove(first.id, None).await.unwrap();
    let gone = world.rules.remove(first.id, None).await.unwrap_err();
    assert_eq!(gone.code(), ErrorCode::CommonNotFound);
    world.rules.add(&connector(), Rule::default(), None).await.unwrap();
}

async fn who_has_seen_another_version_changes_nothing(world: World) {
    let stored = world.rules.add(&connector(), Rule::default(), None).await.unwrap();
    let other = Rule { max_text_bytes: 10, ..Rule::default() };
    let changed = world.rules.change(stored.id, other.clone(), Some(1), None).await.unwrap();
    assert_eq!((changed.version, changed.rule.max_text_bytes), (2, 10));
    let late = world.rules.change(stored.id, Rule::default(), Some(1), None).await.unwrap_err();
    assert_eq!(late.code(), ErrorCode::CommonConflict);
    // The same again is no change.
    assert_eq!(world.rules.change(stored.id, other, None, None).await.unwrap().version, 2);
    let moved = Rule { conversation: Some("7".into()), ..Rule::default() };
    let refused = world.rules.change(stored.id, moved, None, None).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CommonInvalidInput);
}

async fn changes_of_rules_are_told(world: World) {
    let before = events::newest(&world.db).await.unwrap();
    let stored = world.rules.add(&connector(), Rule::default(), None).await.unwrap();
    let again = world.rules.add(&connector(), Rule::default(), None).await;
    assert!(again.is_err());
    let other = Rule { max_text_bytes: 10, ..Rule::default() };
    for _twice in 0..2 {
        world.rules.change(stored.id, other.clone(), None, None).await.unwrap();
    }
    world.rules.remove(stored.id, None).await.unwrap();
    assert!(world.rules.remove(stored.id, None).await.is_err());
    let told = events::page_after(&world.db, before, 100).await.unwrap().events;
    let kinds: Vec<_> = told.iter().map(|event| &*event.kind).collect();
    assert_eq!(kinds, ["router.rule_added", "router.rule_changed", "router.rule_removed"]);
    for event in &told {
        assert_eq!(event.subject, "connector:echo:default");
        assert_eq!(event.body, json!({ "rule": stored.id }));
    }
}

async fn what_makes_no_sense_is_refused(world: World) {
    let blank = ["a b".to_owned()].into();
    let many = (0..1_001).map(|n| n.to_string()).collect();
    let senseless = [
        Rule { max_text_bytes: 0, ..Rule::default() },
        Rule { max_text_bytes: 2 << 20, ..Rule::default() },
        Rule { agent: " ".into(), ..Rule::default() },
        // One that nobody could have: what is said would wait for it for ever.
        Rule { agent: "ops/night".into(), ..Rule::default() },
        Rule { allow_from: blank, ..Rule::default() },
        Rule { deny_from: many, ..Rule::default() },
        Rule { conversation: Some(String::new()), ..Rule::default() },
    ];
    for rule in senseless {
        let refused = world.rules.add(&connector(), rule.clone(), None).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::CommonInvalidInput, "{rule:?}");
    }
}

async fn a_list_goes_on_where_it_ended(world: World) {
    for n in 0..5 {
        let rule = Rule { conversation: Some(n.to_string()), ..Rule::default() };
        world.rules.add(&connector(), rule, None).await.unwrap();
    }
    let first = world.rules.list(None, None, 3).await.unwrap();
    let rest = world.rules.list(Some(&connector()), Some(first[2].id), 10).await.unwrap();
    assert_eq!((first.len(), rest.len()), (3, 2));
    let none = world.rules.list(Some(&"nobody".parse().unwrap()), None, 10).await.unwrap();
    assert_eq!(none, []);
}
