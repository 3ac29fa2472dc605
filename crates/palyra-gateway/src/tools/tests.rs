use std::fmt::Write as _;

use palyra_common::agent::AgentSpec;
use palyra_common::runtime_contracts::{GateDecision, Trust};
use palyra_policy::gate::{Proposal, gate};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::bench::{World, call, in_channel};
use crate::agents::Agents;
use crate::tool::Arguments;

/// A call of each tool that is fine; of those that care, one here and one elsewhere.
fn fine() -> Vec<(&'static str, &'static str, Value)> {
    let there = json!({"connector": "echo:main", "conversation": "dm-bob"});
    vec![
        ("agent.delegate", "", json!({"agent": "helper", "task": "x"})),
        ("channel.read", "here", json!({})),
        ("channel.read", "elsewhere", there),
        ("channel.send", "here", json!({"text": "x"})),
        (
            "channel.send",
            "elsewhere",
            json!({"text": "x", "connector": "echo:main", "conversation": "dm-bob"}),
        ),
        ("fs.list", "", json!({})),
        ("fs.patch", "", json!({"path": "a", "old": "a", "new": "b"})),
        ("fs.read", "", json!({"path": "a"})),
        ("fs.search", "", json!({"query": "a"})),
        ("fs.write", "", json!({"path": "a", "content": "x"})),
        ("http.fetch", "", json!({"url": "https://example.org/"})),
        ("time.now", "", json!({})),
        ("ui.show", "", json!({"title": "x"})),
    ]
}

async fn world() -> World {
    let world = World::with_channel().await;
    let agents = Agents::new(world.db.clone(), world.clock.clone());
    agents.add("helper".parse().unwrap(), AgentSpec::default(), None).await.unwrap();
    std::fs::create_dir_all(world.folder.path().join("workspaces/ann")).unwrap();
    std::fs::write(world.folder.path().join("workspaces/ann/a"), "a").unwrap();
    world
}

fn decided(weighed: &crate::tool::Weighed, context: Trust) -> GateDecision {
    let crate::tool::Weighed { effect, risk, reach, .. } = *weighed;
    gate(&Proposal { effect, risk, reach, context, said: context }).0
}

/// Reviewed like code: this is what agents may do by themselves.
#[tokio::test]
async fn what_each_tool_does_to_the_world() {
    let world = world().await;
    let mut table = String::new();
    let mut row = |cells: [&str; 6]| {
        let [tool, effect, risk, reach, clean, untrusted] = cells;
        let line = format!("{tool:<24}{effect:<13}{risk:<8}{reach:<11}{clean:<7}{untrusted}");
        writeln!(table, "{line}").unwrap();
    };
    row(["tool", "effect", "risk", "reach", "clean", "untrusted"]);
    for (name, note, arguments) in fine() {
        let weighed = world.weigh(name, &in_channel(call(arguments))).await.unwrap();
        let name = if note.is_empty() { name.to_owned() } else { format!("{name} {note}") };
        let of = |context| decided(&weighed, context);
        row([
            &name,
            weighed.effect.as_str(),
            weighed.risk.as_str(),
            weighed.reach.as_str(),
            of(Trust::Operator).as_str(),
            of(Trust::Untrusted).as_str(),
        ]);
    }
    insta::assert_snapshot!(table, @r"
    tool                    effect       risk    reach      clean  untrusted
    agent.delegate          idempotent   low     own_data   allow  ask
    channel.read here       read_only    low     here       allow  allow
    channel.read elsewhere  read_only    low     elsewhere  allow  ask
    channel.send here       side_effect  low     here       allow  allow
    channel.send elsewhere  side_effect  medium  elsewhere  ask    ask
    fs.list                 read_only    low     own_data   allow  allow
    fs.patch                side_effect  medium  own_data   ask    ask
    fs.read                 read_only    low     own_data   allow  allow
    fs.search               read_only    low     own_data   allow  allow
    fs.write                side_effect  medium  own_data   ask    ask
    http.fetch              read_only    low     elsewhere  allow  ask
    time.now                read_only    low     own_data   allow  allow
    ui.show                 side_effect  low     here       allow  allow
    ");
}

/// `artifact.read` is in no table: it needs a result to read, and has its own tests.
#[tokio::test]
async fn every_tool_is_there_once_and_takes_only_what_it_knows() {
    let world = world().await;
    let offered = world.tools.offered(&AgentSpec::default());
    let names: Vec<_> = offered.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "agent.delegate",
            "artifact.read",
            "channel.read",
            "channel.send",
            "fs.list",
            "fs.patch",
            "fs.read",
            "fs.search",
            "fs.write",
            "http.fetch",
            "time.now",
            "ui.show",
        ]
    );
    for tool in &offered {
        let schema = &tool.input_schema;
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        let stray = json!({"approved": true, "__proto__": {}});
        assert!(world.tools.check(&tool.name, &stray).is_err(), "{}", tool.name);
    }
}

/// The names of all arguments.
const KEYS: &[&str] = &[
    "path",
    "content",
    "old",
    "new",
    "all",
    "offset",
    "limit",
    "line_numbers",
    "query",
    "regex",
    "ignore_case",
    "after",
    "id",
    "url",
    "head",
    "raw",
    "text",
    "connector",
    "conversation",
    "agent",
    "task",
];

/// What a model could write, near enough to what tools take to get past some of their checks.
fn written() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        ".{0,20}",
        "(/|\\.\\.|\\.|a|\u{202e}|~|%2e|\\\\|\u{0}|-|:){0,12}",
        "(https?|file)://[a-z@:/?#\\[\\]\\\\]{0,12}",
        "[0-9a-f]{64}",
        Just("echo:main".to_owned()),
        Just("helper".to_owned()),
    ];
    let leaf = prop_oneof![
        4 => text.prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map(".{0,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let object = prop::collection::hash_map(prop::sample::select(KEYS), value.clone(), 0..5)
        .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
    prop_oneof![4 => object.prop_map(Value::Object), 1 => value]
}

#[test]
fn nonsense_is_refused_and_nothing_breaks() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = runtime.block_on(world());
    let names: Vec<_> =
        world.tools.offered(&AgentSpec::default()).into_iter().map(|tool| tool.name).collect();
    let config = ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() };
    proptest!(config, |(value in written())| {
        for name in &names {
            let tool = world.tools.get(name).unwrap();
            let checked = Arguments::parse(&value.to_string()).is_ok()
                && world.tools.check(name, &value).is_ok();
            let call = in_channel(call(value.clone()));
            // Also what the schema stops: a tool does not rely on it.
            let weighed = runtime.block_on(tool.weigh(&call));
            let done = runtime.block_on(tool.run(&call));
            if !value.is_object() && name != "time.now" {
                prop_assert!(!checked && weighed.is_err() && done.is_err(), "{name} {value}");
            }
            if weighed.is_err() {
                prop_assert!(done.is_err(), "{name} {value}: made what it would not weigh");
            }
        }
    });
    // Whatever was asked for, nothing was written: no call was decided on.
    let workspace = world.folder.path().join("workspaces/ann");
    assert_eq!(std::fs::read_dir(workspace).unwrap().count(), 1);
}
