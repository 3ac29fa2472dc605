//! Runs replayed, compared and exported, as people and programs see it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use palyra_common::api::ExportedEvent;
use serde_json::Value;

use crate::shapes::shape;
use crate::world::{LIMIT, World};

const SECRET: &str = "geheim-8161-wort";
const NOBODY: &str = "01HZ3V9K8M2QF6T7Y4W5X6A7B8";

fn run_of(world: &World, text: &str) -> String {
    let chat = world.palyra(&["chat", text, "--new", "--json"]).expect(0).json();
    chat["run"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_replays_here_and_from_a_file() {
    let world = World::new();
    let mut daemon = world.palyrad();
    let run = run_of(&world, "what time is it");
    let told = world.palyra(&["runs", "replay", &run]).expect(0);
    assert!(told.out.starts_with(&format!("{run}: the same in ")), "{told:?}");
    let exported = world.palyra(&["runs", "export", &run]).expect(0).out;
    assert_eq!(exported, world.palyra(&["runs", "export", &run, "--json"]).expect(0).out);
    // Without a daemon, and without the run.
    daemon.terminate(LIMIT).unwrap();
    let file = world.home().join("tape.jsonl");
    let path = file.to_str().unwrap();
    let replay = ["runs", "replay", "--file", path];
    std::fs::write(&file, &exported).unwrap();
    let told = world.palyra(&replay).expect(0);
    assert!(told.out.starts_with(&format!("{run}: the same in ")), "{told:?}");
    std::fs::write(&file, exported.replace("reads_own_data", "low_risk")).unwrap();
    let told = world.palyra(&replay).expect(7);
    assert_eq!(told.err, "", "the report says it");
    assert!(told.out.contains("not the same from event"), "{told:?}");
    assert!(told.out.contains("because low_risk"), "{told:?}");
    assert!(told.out.contains("today     t1c0: allow because reads_own_data"), "{told:?}");
    std::fs::write(&file, "no tape").unwrap();
    let refused = world.palyra(&[&replay[..], &["--json"]].concat()).expect(2);
    assert_eq!(refused.error_code(), "common/invalid_input");
}

#[test]
fn no_secret_leaves_with_a_tape() {
    let world = World::new();
    let _daemon = world.palyrad();
    let run = run_of(&world, &format!("what is {SECRET}?"));
    let line = format!("{SECRET}\n");
    world.palyra_reading(&["secrets", "set", "later"], line.as_bytes()).expect(0);
    let exported = world.palyra(&["runs", "export", &run]).expect(0).out;
    assert!(!exported.contains(SECRET), "{exported}");
    assert!(exported.contains("\"redacted\":true"), "{exported}");
    let mut lines = exported.lines();
    let head: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!((&head["palyra_tape"], &head["run"]), (&1.into(), &run.as_str().into()));
    lines.for_each(|line| drop(serde_json::from_str::<ExportedEvent>(line).unwrap()));
    let file = world.home().join("tape.jsonl");
    std::fs::write(&file, &exported).unwrap();
    world.palyra(&["runs", "replay", "--file", file.to_str().unwrap()]).expect(0);
}

#[test]
fn runs_are_compared_and_shapes_are_as_reviewed() {
    let world = World::new();
    let _daemon = world.palyrad();
    let [one, same, other] =
        ["hello there", "hello there", "what time is it"].map(|text| run_of(&world, text));
    let told = world.palyra(&["runs", "diff", &one, &same]).expect(0);
    assert!(told.out.starts_with("The same in "), "{told:?}");
    let told = world.palyra(&["runs", "diff", &one, &other]).expect(0);
    assert!(told.out.contains("and then they part"), "{told:?}");
    for total in ["agent", "ended with", "turns", "calls of tools", "tokens", "cost"] {
        assert_eq!(told.out.matches(&format!("  {total}")).count(), 2, "{total}: {told:?}");
    }
    let shapes = RefCell::new(BTreeMap::new());
    let keep = |name: &'static str, arguments: &[&str]| {
        let document = world.palyra(&[arguments, &["--json"]].concat()).expect(0).json();
        shapes.borrow_mut().insert(name, shape(&document));
    };
    keep("runs replay", &["runs", "replay", &one]);
    keep("runs diff", &["runs", "diff", &one, &other]);
    keep("runs diff (the same)", &["runs", "diff", &one, &same]);
    insta::assert_json_snapshot!("of_replays", shapes.into_inner());
    for command in [&["runs", "replay", NOBODY][..], &["runs", "export", NOBODY]] {
        let refused = world.palyra(&[command, &["--json"]].concat()).expect(5);
        assert_eq!((refused.error_code(), refused.out.as_str()), ("common/not_found".into(), ""));
    }
    world.palyra(&["runs", "diff", &one, NOBODY]).expect(5);
    world.palyra(&["runs", "replay"]).expect(2);
}
