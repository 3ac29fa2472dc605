//! Channels, the router and messages, as somebody at a terminal meets them and as programs read them.

use serde_json::Value;

use crate::json::masked;
use crate::world::{Ran, World, until};

const ECHO: &str = "echo:default";
/// Two tries, and no second one while a test looks.
const TWO_TRIES: &str = r#"{"max_attempts": 2, "backoff": {"base": "1d", "cap": "1d"}}"#;
const FAILS: &str = r#"{"faults": {"request": "transient"}}"#;
const REJECTS: &str = r#"{"faults": {"request": "reject"}}"#;
/// Nobody can say what became of anything.
const LOSES: &str =
    r#"{"deduplicate": false, "tells_history": false, "faults": {"request": "lose"}}"#;
const LOOKS_ONCE: &str = r#"{"look_after": "1ms", "max_looks": 1}"#;

impl World {
    /// What `channels show` tells programs of the echo channel.
    fn channel(&self) -> Value {
        self.palyra(&["channels", "show", ECHO, "--json"]).expect(0).json()
    }

    fn until_channel(&self, what: &str, holds: impl Fn(&Value) -> bool) {
        until(what, || holds(&self.channel()));
    }

    fn configure(&self, settings: &str, queue: &str) {
        let arguments = ["channels", "configure", ECHO, "--settings", settings, "--queue", queue];
        self.palyra(&arguments).expect(0);
    }

    fn send(&self, envelope: &str) -> Ran {
        self.palyra(&["message", "send", ECHO, "general", "hi", "--envelope", envelope, "--json"])
    }

    /// The same, as people are told.
    fn send_and_read(&self, envelope: &str) -> Ran {
        self.palyra(&["message", "send", ECHO, "general", "hi", "--envelope", envelope])
    }
}

#[track_caller]
fn says(ran: &Ran, expected: &[&str]) {
    // How wide a column is depends on the other rows.
    let out = ran.out.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    for text in expected {
        assert!(out.contains(text), "{text:?} is missing: {ran:#?}");
    }
}

/// Whoever sends hears why not, and not that the daemon is waited for.
#[test]
fn a_full_queue_is_told_at_once() {
    let world = World::new();
    let _daemon = world.palyrad();
    let hour = r#"{"max_waiting": 1, "backoff": {"base": "1h", "cap": "1h"}}"#;
    world.configure(r#"{"faults": {"request": "transient"}}"#, hour);
    let send = |conversation: &str| {
        world.palyra(&["message", "send", ECHO, conversation, "hi", "--wait", "1ms"])
    };
    send("general").expect(7);
    let refused = send("general");
    assert!(refused.err.contains("code: channel/queue_full"), "{refused:?}");
    assert!(!refused.err.contains("waiting for the daemon"), "{refused:?}");
}

/// What keeps others is no reason for this one.
#[test]
fn what_a_message_waits_for_is_its_own() {
    let world = World::new();
    let _daemon = world.palyrad();
    world.configure(r#"{"faults": {"request": "reject"}}"#, "{}");
    world.send("m1").expect(7);
    world.until_channel("it was given up", |channel| channel["dead"] == 1);
    let hour = r#"{"backoff": {"base": "1h", "cap": "1h"}}"#;
    world.configure(r#"{"faults": {"request": "transient"}}"#, hour);
    let waits = world.palyra(&["message", "send", ECHO, "other", "hi", "--wait", "1s"]).expect(7);
    let told = "it waits; echo:default is at work, and this has failed and waits for another try";
    assert!(
        waits.err.contains(told) || waits.err.contains("is at work, and this waits for"),
        "{waits:?}"
    );
}

#[test]
fn what_breaks_is_tried_again_given_up_and_replayed() {
    let world = World::new();
    let _daemon = world.palyrad();
    let answered = world.palyra(&["channels", "test", ECHO, "hello"]).expect(0);
    says(&answered, &["Hello. This is the offline model", "\n use TOOL {json}\n"]);
    let show = || world.palyra(&["channels", "show", ECHO]).expect(0);
    says(&show(), &["echo:default is healthy", "given up 0"]);

    world.configure(FAILS, TWO_TRIES);
    let args = ["message", "send", ECHO, "general", "hi", "--envelope", "m1", "--wait", "1ms"];
    let waits = world.palyra(&args).expect(7);
    says(&waits, &["m1 part 0 is"]);
    world.until_channel("it is to be tried again", |channel| channel["queue"]["retrying"] == 1);
    says(&show(), &["echo:default is retrying", "waiting 1 in 1 conversation\n"]);

    let drained = world.palyra(&["channels", "drain", ECHO]).expect(7);
    says(&drained, &["The queue of echo:default is empty.\n1 message was given up; `palyra "]);
    says(&show(), &["echo:default is dead_lettered", "given up 1"]);
    says(&world.palyra(&["channels", "list"]).expect(0), &["dead_lettered"]);
    says(&world.palyra(&["doctor"]), &["echo:default: 1 message given up", "dead-letters list"]);
    let letters = world.palyra(&["channels", "dead-letters", "list", ECHO]).expect(0);
    says(&letters, &["m1/0", "general", "attempts_exhausted", "transient_network"]);
    let letter = world.palyra(&["channels", "dead-letters", "show", ECHO, "m1"]).expect(0);
    says(&letter, &["because attempts_exhausted", "tries 2", "more echo was told to fail"]);

    world.configure("{}", "{}");
    let none = world.palyra(&["channels", "dead-letters", "replay", ECHO, "m1/99", "--json"]);
    assert_eq!(none.expect(5).error_code(), "common/not_found");
    for _ in 0..2 {
        world.palyra(&["channels", "dead-letters", "replay", ECHO, "m1"]).expect(0);
        world.palyra(&["channels", "drain", ECHO]).expect(0);
    }
    says(&show(), &["echo:default is healthy", "given up 0"]);
    let letters = world.palyra(&["channels", "dead-letters", "list", ECHO]).expect(0);
    assert_eq!(letters.out, "There is none.\n");
    let said = world.palyra(&["message", "read", ECHO, "general"]).expect(0);
    assert_eq!(said.out.matches("palyra: hi").count(), 1, "it went out once: {said:#?}");
    let search = |text: &str| world.palyra(&["message", "search", ECHO, "general", text]);
    assert_eq!(search("HI").expect(0).out, said.out);
    assert_eq!(search("ho").expect(0).out, "Nothing that was found says that.\n");
    let refused = search("").expect(2);
    assert!(refused.err.contains("containing has from 1 to 200 characters"), "{refused:?}");
    world.send("m2").expect(0);
    let read = |more: &[&str]| {
        let read = ["message", "read", ECHO, "general"];
        world.palyra(&[&read, more].concat()).expect(0).out
    };
    let last = read(&["--limit", "1"]);
    let (before, last) = last.split_once('\n').unwrap();
    let until = before.strip_prefix("Before that: --until ").unwrap();
    assert_eq!(read(&["--until", until]) + last, read(&[]));
    let old = ["message", "read", ECHO, "general", "--until", "2020-01-01T00:00:00Z"];
    assert_eq!(world.palyra(&old).expect(0).out, "Nothing was said there.\n");
}

#[test]
fn what_waits_for_somebody_is_decided_by_them() {
    let world = World::new();
    let _daemon = world.palyrad();
    world.configure(REJECTS, "{}");
    for envelope in ["m1", "m2", "m3"] {
        let sent = world.send_and_read(envelope).expect(7);
        assert!(sent.err.contains("`palyra channels dead-letters list echo:default`"), "{sent:?}");
    }
    let replay = |more: &[&str]| {
        let all = ["channels", "dead-letters", "replay", ECHO, "--all", "--json"];
        world.palyra(&[&all, more].concat())
    };
    // Standard input is no terminal here.
    assert_eq!(replay(&[]).expect(2).error_code(), "common/invalid_input");
    let discard = ["channels", "dead-letters", "discard", ECHO, "m3"];
    let refused = world.palyra(&discard).expect(2);
    assert!(refused.err.contains("add --yes"), "{refused:#?}");
    assert_eq!(world.channel()["dead"], 3, "nothing was changed");

    world.configure("{}", "{}");
    world.palyra(&[&discard[..], &["--yes"]].concat()).expect(0);
    let none = replay(&["--yes", "--reason", "expired"]).expect(0).json();
    assert_eq!(none["changed"], 0, "none died of that: {none}");
    assert_eq!(replay(&["--yes", "--limit", "1"]).expect(0).json()["changed"], 1);
    assert_eq!(replay(&["--yes"]).expect(0).json()["changed"], 1);
    world.until_channel("they go out", |channel| channel["waiting"] == 0 && channel["dead"] == 0);

    world.configure(LOSES, LOOKS_ONCE);
    for envelope in ["u1", "u2"] {
        let sent = world.send_and_read(envelope).expect(7);
        assert!(sent.err.contains("`palyra channels unknown list echo:default`"), "{sent:?}");
    }
    world.until_channel("nothing can be learnt", |channel| {
        channel["unknown"] == 2 && channel["waiting"] == 0
    });
    says(&world.palyra(&["doctor"]), &["nobody knows whether 2 messages arrived", "unknown list"]);
    world.configure("{}", LOOKS_ONCE);
    let resolve = |envelope: &str, how: &str| {
        let arguments = ["channels", "unknown", "resolve", ECHO, envelope, how, "--json"];
        world.palyra(&arguments).expect(0).json()["state"].clone()
    };
    assert_eq!(resolve("u1", "--delivered"), "delivered");
    assert_eq!(resolve("u2", "--resend"), "pending");
    world.palyra(&["channels", "drain", ECHO]).expect(0);
    assert_eq!(world.send("u2").expect(0).json()["parts"][0]["state"], "delivered");
}

/// Which part failed is nothing that somebody has to know.
#[test]
fn what_is_decided_about_a_long_message_is_about_the_part_that_failed() {
    let world = World::new();
    let _daemon = world.palyrad();
    // Its first part arrives, and its second does not: every other request fails, the first as well.
    let long = "word ".repeat(1_000);
    let send = |name: &str| {
        let send = ["message", "send", ECHO, "general", &long, "--envelope", name, "--json"];
        world.palyra(&send)
    };
    let fails = |name: &str, settings: &str, queue: &str| {
        world.configure(settings, queue);
        world.send(&format!("{name}-before")).expect(7);
        send(name).expect(7);
        world.configure("{}", "{}");
    };
    let arrives = |name: &str| {
        world.palyra(&["channels", "drain", ECHO]).expect(0);
        assert_eq!(send(name).expect(0).json()["parts"].as_array().unwrap().len(), 3);
    };
    let every_other = |fault: &str| {
        format!(
            r#"{{"deduplicate": false, "tells_history": false,
                "faults": {{"request": "{fault}", "one_in": 2}}}}"#
        )
    };
    for what in ["replay", "discard"] {
        let name = format!("to-{what}");
        fails(&name, &every_other("reject"), "{}");
        let decide = ["channels", "dead-letters", what, ECHO, &name, "--yes"];
        says(&world.palyra(&decide).expect(0), &[&format!("{name}/1 is ")]);
        world.palyra(&decide).expect(0);
        world.palyra(&["channels", "dead-letters", "show", ECHO, &name]).expect(5);
        // Before the next fault is set up, which is about requests in their order.
        if what == "replay" {
            arrives(&name);
        }
    }

    for how in ["--delivered", "--resend"] {
        let name = how.trim_start_matches('-');
        fails(name, &every_other("lose"), LOOKS_ONCE);
        let resolve = ["channels", "unknown", "resolve", ECHO, name, how];
        says(&world.palyra(&resolve).expect(0), &[&format!("{name}/1 is ")]);
        world.palyra(&resolve).expect(0);
        arrives(name);
    }
}

/// The answer is lost, and the platform shows the message when it is asked.
#[test]
fn what_is_still_looked_for_is_waited_for() {
    let world = World::new();
    let _daemon = world.palyrad();
    world.configure(r#"{"faults": {"request": "drop_answer"}}"#, r#"{"look_after": "1s"}"#);
    assert_eq!(world.send("m1").expect(0).json()["parts"][0]["state"], "delivered");
    says(&world.palyra(&["channels", "test", ECHO, "hello"]).expect(0), &["offline model"]);
}

#[test]
fn a_drain_that_is_not_done_in_time_says_so() {
    let world = World::new();
    let _daemon = world.palyrad();
    let paused = world.palyra(&["channels", "pause", ECHO, "--reason", "a look at it"]).expect(0);
    says(&paused, &["echo:default is paused", "a look at it"]);
    let sent = ["message", "send", ECHO, "general", "hi", "--wait", "1ms"];
    world.palyra(&sent).expect(7);
    let drain = |more: &[&str]| {
        world.palyra(&[&["channels", "drain", ECHO, "--wait", "1ms"], more].concat()).expect(7)
    };
    says(&drain(&[]), &["1 message still waits in echo:default"]);
    assert_eq!(drain(&["--json"]).json()["waiting"], 1);
    let waits = world.palyra(&sent).expect(7);
    assert!(waits.err.contains("`palyra channels resume echo:default` lets it go"), "{waits:?}");
    world.palyra(&["channels", "resume", ECHO]).expect(0);
    world.palyra(&["channels", "drain", ECHO]).expect(0);
    // What is switched off keeps its queue, and hears nobody.
    world.palyra(&["channels", "disable", ECHO]).expect(0);
    let waits = world.palyra(&sent).expect(7);
    assert!(
        waits.err.contains("echo:default is switched off. `palyra channels enable "),
        "{waits:?}"
    );
    let deaf = world.palyra(&["channels", "test", ECHO, "hello"]).expect(7);
    says(&deaf, &["Nobody answers: connector_disabled"]);
    says(&world.palyra(&["channels", "enable", ECHO]).expect(0), &["switched on yes"]);
}

/// Its queue is as good as it can be; only nothing goes out.
#[test]
fn a_channel_without_a_connection_is_not_said_to_be_well() {
    let world = World::new();
    let _daemon = world.palyrad();
    let well = world.palyra(&["doctor"]).out;
    assert!(well.contains("1 switched on, and none of them is in trouble"), "{well}");
    let lost = r#"{"faults": {"connection": "lost"}}"#;
    world.palyra(&["channels", "add", "echo:x", "--settings", lost]).expect(0);
    let why = "it has no connection: echo was told to fail; it is tried again";
    until("it was tried", || {
        let shown = world.palyra(&["channels", "show", "echo:x", "--json"]).expect(0).json();
        shown["reasons"][0] == why
    });
    let show = |id: &str| world.palyra(&["channels", "show", id]).expect(0);
    says(&show("echo:x"), &["echo:x is not connected\n because it has no connection: "]);
    says(&world.palyra(&["channels", "list"]).expect(0), &[why]);
    says(&world.palyra(&["doctor"]), &[&format!("echo:x: {why}")]);
    let waits = world.palyra(&["message", "send", "echo:x", "general", "hi", "--wait", "1ms"]);
    let told = format!("it waits; echo:x does not send now: {why}. `palyra channels show echo:x`");
    let waits = waits.expect(7);
    assert!(waits.err.contains(&told), "{waits:?}");

    // What is switched off is neither well nor ill, and no concern of the doctor.
    says(
        &world.palyra(&["channels", "disable", "echo:x"]).expect(0),
        &["echo:x is switched off\n"],
    );
    says(&show("echo:x"), &["echo:x is switched off\n"]);
    let well = world.palyra(&["doctor"]).out;
    assert!(well.contains("1 switched on, and none of them is in trouble"), "{well}");
    let enabled = world.palyra(&["channels", "enable", "echo:x"]).expect(0);
    assert!(!enabled.out.contains("is healthy"), "{enabled:?}");
    world.palyra(&["channels", "configure", "echo:x", "--settings", "{}"]).expect(0);
    until("it is connected", || show("echo:x").out.starts_with("echo:x is healthy"));
    world.palyra(&["channels", "drain", "echo:x"]).expect(0);
}

#[test]
fn the_shapes_are_as_reviewed() {
    let world = World::new();
    let _daemon = world.palyrad();
    let shape = |name: &str, arguments: &[&str]| {
        let ran = world.palyra(&[arguments, &["--json"]].concat()).expect(0);
        assert_eq!(ran.err, "", "{arguments:?}");
        insta::assert_json_snapshot!(name, masked(ran.json()));
    };
    world.until_channel("it runs", |channel| channel["liveness"] == "running");
    shape("list", &["channels", "list"]);
    shape("show", &["channels", "show", ECHO]);
    shape("test", &["channels", "test", ECHO, "hello there"]);
    shape("message_send", &["message", "send", ECHO, "general", "hi", "--envelope", "m1"]);
    shape("message_read", &["message", "read", ECHO, "test"]);
    shape("message_search", &["message", "search", ECHO, "test", "hello"]);
    shape("pause", &["channels", "pause", ECHO, "--reason", "a look at it"]);
    shape("resume", &["channels", "resume", ECHO]);
    shape("events", &["channels", "events", ECHO, "--limit", "2"]);
    shape("drain", &["channels", "drain", ECHO]);

    world.configure(REJECTS, "{}");
    world.send("dead").expect(7);
    shape("dead_letters_list", &["channels", "dead-letters", "list", ECHO]);
    shape("dead_letters_show", &["channels", "dead-letters", "show", ECHO, "dead"]);
    shape("discard", &["channels", "dead-letters", "discard", ECHO, "dead", "--yes"]);
    shape("replay_all", &["channels", "dead-letters", "replay", ECHO, "--all", "--yes"]);

    world.configure(LOSES, LOOKS_ONCE);
    world.send("lost").expect(7);
    world.until_channel("nothing can be learnt", |channel| channel["waiting"] == 0);
    shape("unknown_list", &["channels", "unknown", "list", ECHO]);
    shape("resolve", &["channels", "unknown", "resolve", ECHO, "lost", "--delivered"]);

    let added = world.palyra(&["channels", "add", "echo:second", "--queue", TWO_TRIES]).expect(0);
    says(&added, &["echo:second is set up", "palyra router rules add echo:second"]);
    let allow = ["router", "rules", "add", "echo:second", "direct_messages=allow"];
    shape("rules_add", &allow);
    shape("rules_list", &["router", "rules", "list", "--channel", "echo:second"]);
    let preview = |conversation, more: &[&'static str]| {
        let asked = ["router", "preview", "echo:second", conversation, "hi", "--sender", "ann"];
        [&asked, more].concat()
    };
    shape("preview_direct", &preview("dm-ann", &["--direct"]));
    shape("preview_shared", &preview("general", &[]));
}

#[test]
fn what_is_not_there_is_not_found() {
    let world = World::new();
    let _daemon = world.palyrad();
    let no_rule = "01HZ3V9K8M2QF6T7Y4W5X6A7B8";
    for arguments in [
        &["channels", "show", "echo:no"][..],
        &["channels", "configure", "echo:no", "--settings", "{}"],
        &["channels", "enable", "echo:no"],
        &["channels", "disable", "echo:no"],
        &["channels", "events", "echo:no"],
        &["channels", "pause", "echo:no", "--reason", "x"],
        &["channels", "resume", "echo:no"],
        &["channels", "drain", "echo:no"],
        &["channels", "test", "echo:no", "hello"],
        &["channels", "test-send", "echo:no", "general"],
        &["channels", "dead-letters", "list", "echo:no"],
        &["channels", "dead-letters", "replay", "echo:no", "--all", "--yes"],
        &["channels", "dead-letters", "show", ECHO, "nothing"],
        &["channels", "dead-letters", "replay", ECHO, "nothing"],
        &["channels", "dead-letters", "discard", ECHO, "nothing/1", "--yes"],
        &["channels", "unknown", "list", "echo:no"],
        &["channels", "unknown", "resolve", ECHO, "nothing", "--resend"],
        &["message", "send", "echo:no", "general", "hi"],
        &["message", "read", "echo:no", "general"],
        &["router", "rules", "add", "echo:no"],
        &["router", "rules", "set", no_rule, "mention=needed"],
        &["router", "rules", "remove", no_rule, "--yes"],
        &["router", "preview", "echo:no", "general", "hi", "--sender", "ann"],
    ] {
        let ran = world.palyra(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, 5, "{arguments:?}: {ran:#?}");
        assert_eq!(ran.error_code(), "common/not_found", "{arguments:?}");
    }
    let twice = world.palyra(&["channels", "add", ECHO, "--json"]).expect(6);
    assert_eq!(twice.error_code(), "common/conflict");
    let rule = ["router", "rules", "add", ECHO, "direct_messages=allow", "--json"];
    assert_eq!(world.palyra(&rule).expect(6).error_code(), "common/conflict");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_changed() {
    let world = World::new();
    let _daemon = world.palyrad();
    let before = world.channel();
    for arguments in [
        &["channels", "configure", ECHO][..],
        &["channels", "configure", ECHO, "--settings", "{"],
        &["channels", "configure", ECHO, "--settings", "[]"],
        &["channels", "configure", ECHO, "--settings", r#"{"x": 1}"#],
        &["channels", "configure", ECHO, "--settings", r#"{"ledger": "../x"}"#],
        &["channels", "configure", ECHO, "--queue", "none"],
        &["channels", "configure", ECHO, "--queue", "7"],
        &["channels", "configure", ECHO, "--queue", r#"{"lane": 1}"#],
        &["channels", "configure", ECHO, "--queue", r#"{"lanes": 0}"#],
        &["channels", "configure", ECHO, "--queue", r#"{"look_after": "soon"}"#],
        &["channels", "add", "echo:second", "--settings", "{"],
        &["channels", "add", "echo:second", "--queue", r#"{"max_attempts": 0}"#],
        &["channels", "add", "pigeon:second"],
        &["channels", "add", "no name"],
        &["channels", "drain", ECHO, "--wait", "soon"],
        &["channels", "events", ECHO, "--limit", "0"],
        &["channels", "pause", ECHO, "--reason", " "],
        &["channels", "test", ECHO, ""],
        &["channels", "dead-letters", "list", ECHO, "--after", "nonsense"],
        &["channels", "dead-letters", "replay", ECHO],
        &["channels", "dead-letters", "replay", ECHO, "m1/one"],
        &["channels", "dead-letters", "replay", ECHO, "--all", "--limit", "10001", "--yes"],
        &["channels", "unknown", "resolve", ECHO, "m1"],
        &["message", "send", ECHO, "general", " "],
        &["router", "rules", "add", ECHO, "nonsense=true"],
        &["router", "rules", "add", ECHO, "direct_messages"],
        &["router", "rules", "add", ECHO, "agent=ops/night"],
        &["router", "rules", "set", "not-a-rule", "mention=needed"],
    ] {
        let ran = world.palyra(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:#?}");
        let code = ran.error_code();
        assert_eq!(code, "common/invalid_input", "{arguments:?}");
    }
    assert_eq!(world.channel()["version"], before["version"]);
    assert_eq!(world.palyra(&["channels", "list", "--json"]).json()["items"][1], Value::Null);
}

#[test]
fn without_a_daemon_it_is_said_that_there_is_none() {
    let world = World::new();
    for arguments in [
        &["channels", "list"][..],
        &["channels", "show", ECHO],
        &["router", "rules", "list"],
        &["message", "send", ECHO, "general", "hi"],
    ] {
        let ran = world.palyra(&[arguments, &["--json"]].concat()).expect(3);
        assert_eq!(ran.error_code(), "client/daemon_not_running", "{arguments:?}");
    }
}
