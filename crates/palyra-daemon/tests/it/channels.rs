//! Channels over the API: what goes out, what is refused, what waits for somebody.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};

use crate::agents::next;
use crate::daemon::{Answer, Daemon, LIMIT};
use crate::secrets::assert_absent;

const ECHO: &str = "/admin/v1/channels/echo:default";
const CANARY: &str = "canary-4f1d9b7e-do-not-send";

impl Daemon {
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.local(method, path, &body)
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, &Value::Null);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// Waits until what `path` says holds.
    pub(crate) fn until(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + LIMIT;
        loop {
            let found = self.get(path);
            if holds(&found) {
                return found;
            }
            assert!(Instant::now() < deadline, "{path} stays {found}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn send(&self, envelope: &str) -> Answer {
        let message = json!({ "conversation": "general", "text": "hello", "envelope": envelope });
        self.ask("POST", &format!("{ECHO}/messages"), &message)
    }

    fn configure(&self, settings: &Value, queue: &Value) {
        let change = json!({ "settings": settings, "queue": queue });
        let answer = self.ask("PUT", ECHO, &change);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

#[test]
fn a_message_is_answered_and_remembered() {
    let daemon = Daemon::start();
    let test = daemon.ask("POST", &format!("{ECHO}/test"), &json!({ "text": "hello" }));
    assert_eq!(test.status, 202, "{test:?}");
    let test = test.json();
    assert_eq!((&test["routed"], &test["reason"]), (&json!(true), &json!("direct")));
    let reply = format!("{ECHO}/outbox/{}", test["reply"].as_str().unwrap());
    daemon.until(&reply, |state| state["parts"][0]["state"] == "delivered");
    let said = daemon.get(&format!("{ECHO}/messages?conversation=test"));
    let answer = said["items"][0]["text"].as_str().unwrap();
    assert!(answer.starts_with("Hello. This is the offline model"), "{answer}");
    assert_eq!(said["items"][1]["sender"], "operator:owner");
    let newest = daemon.get(&format!("{ECHO}/messages?conversation=test&limit=1"));
    let until = newest["next"].as_str().unwrap();
    let older = daemon.get(&format!("{ECHO}/messages?conversation=test&until={until}"));
    assert_eq!((&older["items"][0], &older["next"]), (&said["items"][1], &Value::Null));
    let found = daemon.get(&format!("{ECHO}/messages?conversation=test&containing=OFFLINE"));
    assert_eq!(found["items"], json!([said["items"][0]]));
    let channel = daemon.get(ECHO);
    assert_eq!(
        (&channel["liveness"], &channel["saturation"]),
        (&json!("running"), &json!("healthy"))
    );
}

/// A program that takes one name for everything would believe that each was sent.
#[test]
fn another_message_under_a_name_that_is_taken_is_refused() {
    let daemon = Daemon::start();
    let messages = format!("{ECHO}/messages");
    let long = "word ".repeat(1_000);
    for (envelope, text) in [("short", "hello"), ("long", long.as_str())] {
        let message = |conversation: &str, text: &str| json!({ "conversation": conversation, "text": text, "envelope": envelope });
        let sent = message("general", text);
        assert_eq!(daemon.ask("POST", &messages, &sent).status, 202);
        assert_eq!(daemon.ask("POST", &messages, &sent).status, 202, "the same again");
        let longer = format!("{text}{}", "more ".repeat(1_000));
        for other in
            [message("general", "other"), message("random", text), message("general", &longer)]
        {
            let refused = daemon.ask("POST", &messages, &other);
            assert_eq!(
                (refused.status, refused.code().as_str()),
                (409, "common/conflict"),
                "{other}"
            );
        }
        let state = daemon.until(&format!("{ECHO}/outbox/{envelope}"), |state| {
            state["parts"].as_array().unwrap().iter().all(|part| part["state"] == "delivered")
        });
        assert_eq!(daemon.ask("POST", &messages, &sent).json(), state, "also once it is delivered");
    }
}

/// However much was said since.
#[test]
fn a_test_that_is_repeated_is_answered_as_it_was_decided() {
    let daemon = Daemon::start();
    let rule = json!({ "conversation": "quiet", "direct_messages": "deny" });
    let rule = json!({ "channel": "echo:default", "rule": rule });
    assert_eq!(daemon.ask("POST", "/admin/v1/router/rules", &rule).status, 201);
    let test = |message: &str| {
        let test = json!({ "text": "x", "message": message, "conversation": "quiet" });
        daemon.ask("POST", &format!("{ECHO}/test"), &test).json()
    };
    let first = test("first");
    assert_eq!(first["routed"], false, "{first}");
    assert!(first["reason"].is_string(), "{first}");
    for later in 0..201 {
        test(&format!("later-{later}"));
    }
    assert_eq!(test("first"), first);
}

#[test]
fn names_of_answers_are_for_agents() {
    let daemon = Daemon::start();
    let message = json!({ "conversation": "general", "text": "mine", "envelope": "run-1" });
    let refused = daemon.ask("POST", &format!("{ECHO}/messages"), &message);
    assert_eq!((refused.status, refused.code().as_str()), (409, "common/conflict"));
}

/// Whoever types it or sends it through us; also where it stands across the cut of a long text.
#[test]
fn what_goes_out_holds_no_value_of_a_secret() {
    let daemon = Daemon::start();
    let value = json!({ "value": CANARY });
    assert_eq!(daemon.ask("PUT", "/admin/v1/secrets/global/canary", &value).status, 200);
    daemon.configure(&json!({ "ledger": "sent.jsonl" }), &json!({}));
    let why = json!({ "reason": "tests" });
    assert_eq!(daemon.ask("POST", &format!("{ECHO}/queue/pause"), &why).status, 200);
    let text = format!("{}{CANARY}{}", "x".repeat(1_990), "y".repeat(30));
    let message = json!({ "conversation": "general", "text": text, "envelope": "long" });
    assert_eq!(daemon.ask("POST", &format!("{ECHO}/messages"), &message).status, 202);
    assert_absent(daemon.data_dir(), &[CANARY, "canary-4f1", "-do-not-send"]);
    assert_eq!(daemon.ask("POST", &format!("{ECHO}/queue/resume"), &Value::Null).status, 200);
    let is_delivered = |state: &Value| {
        let parts = state["parts"].as_array().unwrap();
        !parts.is_empty() && parts.iter().all(|part| part["state"] == "delivered")
    };
    daemon.until(&format!("{ECHO}/outbox/long"), is_delivered);
    let said = daemon.get(&format!("{ECHO}/messages?conversation=general"));
    let said = said["items"].as_array().unwrap().iter().rev();
    let said: String = said.map(|part| part["text"].as_str().unwrap()).collect();
    assert_eq!(said, text.replace(CANARY, "[redacted:global/canary]"));

    let test = json!({ "text": format!("it is {CANARY}.") });
    let test = daemon.ask("POST", &format!("{ECHO}/test"), &test).json();
    let reply = format!("{ECHO}/outbox/{}", test["reply"].as_str().unwrap());
    daemon.until(&reply, is_delivered);
    let said = daemon.get(&format!("{ECHO}/messages?conversation=test"));
    let answer = said["items"][0]["text"].as_str().unwrap();
    assert!(answer.ends_with("You said: it is [redacted:global/canary]."), "{answer}");
    assert_eq!(said["items"][1]["text"], format!("it is {CANARY}."), "as it came in");
    let ledger = daemon.data_dir().join("connectors/sent.jsonl");
    assert_eq!(std::fs::read_to_string(&ledger).unwrap().lines().count(), 3);
    assert_absent(ledger.parent().unwrap(), &[CANARY]);
}

#[test]
fn what_fails_is_retried_given_up_and_replayed_once() {
    let daemon = Daemon::start();
    let quick = json!({ "max_attempts": 2, "backoff": { "base": "1ms", "cap": "1ms" } });
    daemon.configure(&json!({ "faults": { "request": "transient" } }), &quick);
    assert_eq!(daemon.send("m1").status, 202);
    let channel = daemon.until(ECHO, |channel| channel["dead"] == 1);
    assert_eq!(channel["saturation"], "dead_lettered");
    let letters = daemon.get(&format!("{ECHO}/dead-letters"));
    let letter = &letters["items"][0];
    assert_eq!(
        (&letter["envelope"], &letter["reason"], &letter["attempts"]),
        (&json!("m1"), &json!("attempts_exhausted"), &json!(2))
    );
    assert_eq!(letter["operation"]["text"], "hello");
    let one = daemon.get(&format!("{ECHO}/dead-letters/m1"));
    assert_eq!((&one["envelope"], &one["parts"]), (&json!("m1"), &letters["items"]));
    // Who may not read messages sees that there is one.
    let (_, secret) = daemon.token(&["channels:read"]);
    let bearer = format!("Authorization: Bearer {secret}");
    let seen = daemon.tcp("GET", &format!("{ECHO}/dead-letters/m1"), &[&bearer], "").json();
    assert_eq!((seen["parts"][0].get("operation"), &seen["parts"][0]["part"]), (None, &json!(0)));
    let seen = daemon.tcp("GET", &format!("{ECHO}/dead-letters"), &[&bearer], "").json();
    assert_eq!((seen["items"][0].get("operation"), &seen["items"][0]["part"]), (None, &json!(0)));

    daemon.configure(&json!({}), &quick);
    let none = daemon.ask("POST", &format!("{ECHO}/dead-letters/m1/99/replay"), &Value::Null);
    assert_eq!((none.status, &*none.code()), (404, "common/not_found"));
    assert_eq!(daemon.get(ECHO)["dead"], 1, "another part went out");
    for _ in 0..2 {
        let replay = format!("{ECHO}/dead-letters/m1/0/replay");
        assert_eq!(daemon.ask("POST", &replay, &Value::Null).status, 200);
    }
    daemon.until(&format!("{ECHO}/outbox/m1"), |m| m["parts"][0]["state"] == "delivered");
    let gone = daemon.ask("GET", &format!("{ECHO}/dead-letters/m1"), &Value::Null);
    assert_eq!((gone.status, &*gone.code()), (404, "common/not_found"));
    let said = daemon.get(&format!("{ECHO}/messages?conversation=general"));
    assert_eq!(said["items"].as_array().unwrap().len(), 1, "it went out once");
    let trail = daemon.get("/admin/v1/events?action=outbox.");
    assert_eq!(trail["items"].as_array().unwrap().len(), 1, "{trail}");
}

#[test]
fn what_is_not_known_waits_for_somebody() {
    let daemon = Daemon::start();
    let queue = json!({ "look_after": "1ms", "max_looks": 1 });
    let silent = json!({ "deduplicate": false, "tells_history": false,
        "faults": { "request": "lose" } });
    daemon.configure(&silent, &queue);
    daemon.send("m1");
    daemon.send("m2");
    daemon.until(ECHO, |channel| channel["unknown"] == 2);
    daemon.configure(&json!({}), &queue);
    let resolve = |envelope: &str, resolution: &str| {
        let path = format!("{ECHO}/unknown/{envelope}/0/resolve");
        daemon.ask("POST", &path, &json!({ "resolution": resolution })).json()["state"].clone()
    };
    assert_eq!(resolve("m1", "mark_delivered"), "delivered");
    assert_eq!(resolve("m1", "mark_delivered"), "delivered");
    assert_eq!(resolve("m2", "resend"), "pending");
    daemon.until(&format!("{ECHO}/outbox/m2"), |m| m["parts"][0]["state"] == "delivered");
    assert_eq!(daemon.get(&format!("{ECHO}/unknown"))["items"], json!([]));
}

#[test]
fn a_pause_holds_the_queue_and_a_drain_hurries_it() {
    let daemon = Daemon::start();
    let paused = daemon.ask("POST", &format!("{ECHO}/queue/pause"), &json!({ "reason": "tests" }));
    assert_eq!(paused.json()["saturation"], "paused");
    daemon.send("m1");
    assert_eq!(daemon.get(ECHO)["waiting"], 1);
    assert_eq!(daemon.ask("POST", &format!("{ECHO}/queue/resume"), &Value::Null).status, 200);
    daemon.until(ECHO, |channel| channel["waiting"] == 0);

    let slow = json!({ "backoff": { "base": "1h", "cap": "1h" } });
    daemon.configure(&json!({ "faults": { "request": "transient", "one_in": 2 } }), &slow);
    daemon.send("m2");
    daemon.until(ECHO, |channel| channel["queue"]["retrying"] == 1);
    let hurried = daemon.ask("POST", &format!("{ECHO}/queue/drain"), &Value::Null);
    assert_eq!(hurried.json()["changed"], 1);
    daemon.until(ECHO, |channel| channel["waiting"] == 0);
    let kinds = daemon.get(&format!("{ECHO}/events"));
    let kinds: Vec<_> = kinds["items"].as_array().unwrap().iter().map(|e| &e["kind"]).collect();
    for kind in ["paused", "resumed", "configured", "started"] {
        assert!(kinds.contains(&&json!(kind)), "{kind}: {kinds:?}");
    }
}

#[test]
fn a_refused_credential_keeps_the_queue() {
    let daemon = Daemon::start();
    daemon.configure(&json!({ "faults": { "request": "unauthorized" } }), &json!({}));
    daemon.send("m1");
    let failed = daemon.until(ECHO, |channel| channel["readiness"] == "auth_failed");
    assert_eq!((&failed["saturation"], &failed["waiting"]), (&json!("auth_failed"), &json!(1)));
    daemon.configure(&json!({}), &json!({}));
    daemon.until(&format!("{ECHO}/outbox/m1"), |m| m["parts"][0]["state"] == "delivered");
}

#[test]
fn rules_decide_who_is_answered() {
    let daemon = Daemon::start();
    let added = daemon.ask("POST", "/admin/v1/channels", &json!({ "id": "echo:second" }));
    assert_eq!(added.status, 201, "{added:?}");
    let preview = json!({ "channel": "echo:second", "conversation": "c", "sender": "ann",
        "text": "hi", "direct": true });
    let reason =
        || daemon.ask("POST", "/admin/v1/router/preview", &preview).json()["reason"].clone();
    assert_eq!(reason(), "no_rule");
    let new = json!({ "channel": "echo:second", "rule": { "direct_messages": "allow",
        "deny_from": ["echo:user:bob"] } });
    let rule = daemon.ask("POST", "/admin/v1/router/rules", &new);
    assert_eq!(rule.status, 201, "{rule:?}");
    let rule = rule.json();
    assert_eq!(rule["rule"]["deny_from"], json!(["bob"]));
    assert_eq!(rule["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(reason(), "direct");
    assert_eq!(daemon.ask("POST", "/admin/v1/router/rules", &new).code(), "common/conflict");
    let one = format!("/admin/v1/router/rules/{}", rule["id"].as_str().unwrap());
    let deny = json!({ "rule": { "direct_messages": "deny" }, "version": 1 });
    assert_eq!(daemon.ask("PUT", &one, &deny).status, 200);
    assert_eq!(daemon.ask("PUT", &one, &deny).code(), "common/conflict");
    assert_eq!(reason(), "direct_denied");
    assert_eq!(daemon.ask("DELETE", &one, &Value::Null).status, 204);
    assert_eq!(daemon.ask("GET", &one, &Value::Null).code(), "common/not_found");
    // Who may look at channels is told, of the first channel's rule as well.
    let (_, secret) = daemon.token(&["status:read", "channels:read"]);
    let mut stream = TcpStream::connect(daemon.http).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let host = format!("Host: {}\r\nAuthorization: Bearer {secret}", daemon.http);
    write!(stream, "GET /console/v1/events?after=0 HTTP/1.1\r\n{host}\r\n\r\n").unwrap();
    let mut feed = BufReader::new(stream);
    let kinds = std::iter::from_fn(|| next(&mut feed)).map(|(_, kind)| kind);
    let told: Vec<_> = kinds.filter(|kind| kind.starts_with("router.")).take(4).collect();
    let kinds = ["rule_added", "rule_added", "rule_changed", "rule_removed"];
    assert_eq!(told, kinds.map(|kind| format!("router.{kind}")));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_code() {
    let daemon = Daemon::start();
    let nobody = "/admin/v1/channels/echo:nobody";
    let no_rule = "/admin/v1/router/rules/01HZ3V9K8M2QF6T7Y4W5X6A7B8";
    let resend = json!({ "resolution": "resend" });
    for (method, path, body) in [
        ("GET", nobody.to_owned(), Value::Null),
        ("PUT", nobody.to_owned(), json!({})),
        ("POST", format!("{nobody}/enable"), Value::Null),
        ("POST", format!("{nobody}/disable"), Value::Null),
        ("POST", format!("{nobody}/queue/pause"), json!({ "reason": "x" })),
        ("POST", format!("{nobody}/queue/resume"), Value::Null),
        ("POST", format!("{nobody}/queue/drain"), Value::Null),
        ("GET", format!("{nobody}/events"), Value::Null),
        ("GET", format!("{nobody}/dead-letters"), Value::Null),
        ("GET", format!("{nobody}/dead-letters/nothing"), Value::Null),
        ("GET", format!("{ECHO}/dead-letters/nothing"), Value::Null),
        ("POST", format!("{nobody}/dead-letters/replay"), Value::Null),
        ("POST", format!("{ECHO}/dead-letters/nothing/0/replay"), Value::Null),
        ("POST", format!("{ECHO}/dead-letters/nothing/0/discard"), Value::Null),
        ("POST", format!("{nobody}/dead-letters/nothing/0/replay"), Value::Null),
        ("POST", format!("{nobody}/dead-letters/nothing/0/discard"), Value::Null),
        ("GET", format!("{nobody}/unknown"), Value::Null),
        ("POST", format!("{nobody}/unknown/no/0/resolve"), resend.clone()),
        ("POST", format!("{ECHO}/unknown/no/0/resolve"), resend),
        ("GET", format!("{nobody}/outbox/nothing"), Value::Null),
        ("GET", format!("{ECHO}/outbox/nothing"), Value::Null),
        ("GET", format!("{nobody}/messages?conversation=a"), Value::Null),
        ("POST", format!("{nobody}/messages"), json!({ "conversation": "a", "text": "x" })),
        ("POST", format!("{nobody}/test"), json!({ "text": "x" })),
        ("POST", "/admin/v1/router/rules".into(), json!({ "channel": "echo:no", "rule": {} })),
        ("GET", "/admin/v1/router/rules?channel=echo:nobody".into(), Value::Null),
        ("GET", no_rule.into(), Value::Null),
        ("PUT", no_rule.into(), json!({ "rule": {}, "version": 1 })),
        ("DELETE", no_rule.into(), Value::Null),
        (
            "POST",
            "/admin/v1/router/preview".into(),
            json!({ "channel": "echo:nobody", "conversation": "c", "sender": "ann", "text": "x" }),
        ),
    ] {
        let answer = daemon.ask(method, &path, &body);
        assert_eq!((answer.status, &*answer.code()), (404, "common/not_found"), "{method} {path}");
    }
    let long = "x".repeat(32_001);
    for (path, body) in [
        ("/admin/v1/channels".to_owned(), json!({ "id": "pigeon:a" })),
        ("/admin/v1/channels".to_owned(), json!({ "id": "echo:b", "settings": { "x": 1 } })),
        ("/admin/v1/channels".to_owned(), json!({ "id": "echo:b", "settings": [] })),
        (
            "/admin/v1/channels".to_owned(),
            json!({ "id": "echo:b", "settings": { "ledger": "../x" } }),
        ),
        ("/admin/v1/channels".to_owned(), json!({ "id": "echo:b", "queue": { "lanes": 0 } })),
        (format!("{ECHO}/queue/pause"), json!({ "reason": " " })),
        (format!("{ECHO}/messages"), json!({ "conversation": "a", "text": long })),
        (format!("{ECHO}/messages"), json!({ "conversation": "a", "text": " " })),
        (format!("{ECHO}/test"), json!({ "text": "" })),
        (format!("{ECHO}/dead-letters/replay"), json!({ "limit": 10_001 })),
        (
            "/admin/v1/router/rules".to_owned(),
            json!({ "channel": "echo:default", "rule": { "max_text_bytes": 0 } }),
        ),
    ] {
        let answer = daemon.ask("POST", &path, &body);
        assert_eq!(
            (answer.status, &*answer.code()),
            (400, "common/invalid_input"),
            "{path} {body}"
        );
    }
    for body in [
        json!({ "settings": { "x": 1 } }),
        json!({ "settings": [] }),
        json!({ "settings": { "ledger": "../x" } }),
        json!({ "queue": { "lanes": 0 } }),
    ] {
        let answer = daemon.ask("PUT", ECHO, &body);
        assert_eq!((answer.status, &*answer.code()), (400, "common/invalid_input"), "{body}");
    }
    let malformed = daemon.ask("GET", &format!("{ECHO}/dead-letters?after=nonsense"), &Value::Null);
    assert_eq!(malformed.code(), "common/invalid_input");
}

#[test]
fn a_field_of_a_rule_or_a_queue_that_is_wrong_is_named() {
    let daemon = Daemon::start();
    for (body, told) in [
        (json!({ "nonsense": true }), "unknown field `nonsense`"),
        (json!({ "max_text_bytes": "x" }), "rule.max_text_bytes: "),
        (json!({ "allow_from": vec!["ann"; 1_001] }), "rule.allow_from: a list has at most 1000"),
        (json!([]), "rule: "),
    ] {
        let rule = json!({ "channel": "echo:default", "rule": body });
        assert_malformed(&daemon.ask("POST", "/admin/v1/router/rules", &rule), told);
        let preview = json!({ "channel": "echo:default", "conversation": "c", "sender": "ann",
            "text": "hi", "rule": body });
        assert_malformed(&daemon.ask("POST", "/admin/v1/router/preview", &preview), told);
    }
    for (body, told) in [
        (json!({ "lane": 1 }), "unknown field `lane`"),
        (json!({ "lanes": 1.5 }), "queue.lanes: a whole number"),
        (json!({ "backoff": { "base": "1s", "cap": "x" } }), "queue.backoff.cap: a duration"),
        (json!({ "backoff": ["1s", "5m"] }), "queue.backoff: "),
        (json!([]), "queue: "),
    ] {
        let queue = json!({ "queue": body });
        assert_malformed(&daemon.ask("PUT", ECHO, &queue), told);
    }
    let nothing = json!({ "id": "echo:second", "queue": null });
    let added = daemon.ask("POST", "/admin/v1/channels", &nothing).json();
    assert_eq!(added["queue_settings"], daemon.get(ECHO)["queue_settings"]);
    let nothing = json!({ "channel": "echo:second", "rule": null });
    let rule = daemon.ask("POST", "/admin/v1/router/rules", &nothing).json();
    assert_eq!(rule["rule"]["direct_messages"], "pairing", "{rule}");
}

/// The field is named, so that whoever sent it knows where to look.
fn assert_malformed(answer: &Answer, told: &str) {
    assert_eq!((answer.status, &*answer.code()), (400, "http/malformed"), "{answer:?}");
    let message = answer.json()["message"].to_string();
    assert!(message.contains(told), "{told}: {message}");
}

/// Whoever sends requests elsewhere for that would lose what works.
#[test]
fn a_connector_that_is_down_does_not_make_the_daemon_unready() {
    let daemon = Daemon::start();
    daemon.configure(&json!({ "faults": { "request": "unauthorized" } }), &json!({}));
    assert_eq!(daemon.send("m1").status, 202);
    daemon.until(ECHO, |found| found["readiness"] == "auth_failed");
    let ready = daemon.tcp("GET", "/readyz", &[], "");
    assert_eq!((ready.status, &ready.json()["waiting_for"]), (200, &json!([])), "{ready:?}");
}
