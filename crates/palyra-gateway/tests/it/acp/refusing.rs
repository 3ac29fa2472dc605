//! What is refused, and how that is said.

use palyra_common::api::AcpCommandEnvelope;
use palyra_common::runtime_contracts::Role;
use serde_json::{Value, json};

use super::desk::{Desk, access, envelope};
use super::field;
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_command_that_is_not_there_names_those_that_are,
    params_that_are_wrong_are_named,
    what_is_not_there_is_said_so,
    what_changes_something_needs_a_key,
    a_login_that_may_not_is_refused,
    an_envelope_that_is_none_is_answered,
);

const NOWHERE: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

async fn a_command_that_is_not_there_names_those_that_are(world: World) {
    let desk = Desk::new(&world.db).await;
    let error = desk.give("objective.fire", json!({})).await.error.unwrap();
    assert_eq!(error.code(), "common/not_found");
    assert!(error.message().starts_with("there is no command objective.fire; there are: appro"));
    let known = error.details().unwrap()["commands"].as_array().unwrap().len();
    assert_eq!(known, desk.commands.names().count());
}

async fn params_that_are_wrong_are_named(world: World) {
    let desk = Desk::new(&world.db).await;
    let session = desk.result("session.new", json!({})).await["id"].clone();
    let long = "x".repeat(201);
    let page = json!({ "limit": 201 });
    let cases: [(&str, Value, &str); 26] = [
        ("session.new", json!({ "scopes": ["tokens:write"] }), "params.scopes: unknown field"),
        ("session.new", json!({ "agent": 7 }), "params.agent: invalid type"),
        ("session.new", json!({ "surface": "moon" }), "params.surface: unknown variant"),
        ("session.new", json!({ "title": long }), "title has at most 200"),
        ("session.list", page.clone(), "limit is from 1 to 200"),
        ("session.list", json!({ "limit": -1 }), "params.limit: invalid"),
        ("session.list", json!({ "after": "x" }), "after: this is no cursor"),
        ("session.load", json!({}), "params: missing field `session`"),
        ("session.load", json!({ "session": "x" }), "params.session: "),
        ("session.load", json!({ "session": session, "limit": 0 }), "limit is from 1"),
        ("session.fork", json!({ "session": session, "through": 1 }), "params.through: "),
        ("session.fork", json!({ "session": session, "title": long }), "title has at most"),
        ("session.rename", json!({ "session": session }), "params: missing field `title`"),
        ("session.rename", json!({ "session": session, "title": long }), "title has at most"),
        ("session.archive", json!({ "session": null }), "params.session: "),
        ("session.reset", json!({ "id": session }), "params.id: unknown field"),
        ("run.create", json!({ "session": session, "text": " " }), "nothing in the message"),
        ("run.create", json!({ "session": session, "text": ["hunter2"] }), "params.text: "),
        ("run.abort", json!({}), "params: missing field `run`"),
        ("run.pause", json!({ "run": 1 }), "params.run: "),
        ("run.resume", json!({ "run": [] }), "params.run: "),
        ("run.get", json!({ "run": "" }), "params.run: "),
        ("approval.list", json!({ "state": "lost" }), "params.state: "),
        ("approval.list", page, "limit is from 1 to 200"),
        ("approval.get", json!({ "approval": 7 }), "params.approval: "),
        (
            "approval.decide",
            json!({ "approval": NOWHERE, "verdict": "approve", "payload_sha256": "x" }),
            "payload_sha256 is 64",
        ),
    ];
    for (command, params, expected) in cases {
        let error = desk.give(command, params).await.error.unwrap();
        assert_eq!(error.code(), "common/invalid_input", "{command}: {error}");
        assert!(error.message().contains(expected), "{command}: {error}, not {expected}");
        assert!(!error.message().contains("hunter2"), "{error}");
        if let Some((path, _)) = expected.split_once(": ").filter(|_| expected.starts_with("par")) {
            assert_eq!(error.details(), Some(&json!({ "path": path })), "{command}");
        }
    }
}

async fn what_is_not_there_is_said_so(world: World) {
    let desk = Desk::new(&world.db).await;
    let (session, run) = (json!({ "session": NOWHERE }), json!({ "run": NOWHERE }));
    let cases = [
        ("session.new", json!({ "agent": "nobody" })),
        ("session.load", session.clone()),
        ("session.fork", session.clone()),
        ("session.rename", json!({ "session": NOWHERE, "title": "a" })),
        ("session.archive", session.clone()),
        ("session.reset", session),
        ("run.create", json!({ "session": NOWHERE, "text": "a" })),
        ("run.abort", run.clone()),
        ("run.pause", run.clone()),
        ("run.resume", run.clone()),
        ("run.get", run),
        ("approval.get", json!({ "approval": NOWHERE })),
        ("approval.decide", json!({ "approval": NOWHERE, "verdict": "deny" })),
    ];
    for (command, params) in cases {
        assert_eq!(desk.code(command, params).await, "common/not_found", "{command}");
    }
    let session = desk.result("session.new", json!({})).await["id"].clone();
    let said = desk.result("run.create", json!({ "session": session, "text": "a" })).await;
    let resumed = desk.code("run.resume", json!({ "run": said["run"] })).await;
    assert_eq!(resumed, "common/conflict", "it was not paused");
    desk.result("session.archive", json!({ "session": session })).await;
    for (command, params) in [
        ("run.create", json!({ "session": session, "text": "b" })),
        ("session.reset", json!({ "session": session })),
    ] {
        assert_eq!(desk.code(command, params).await, "common/conflict", "{command}");
    }
}

async fn what_changes_something_needs_a_key(world: World) {
    let desk = Desk::new(&world.db).await;
    let error = desk.send(envelope("session.new", json!({}), None)).await.error.unwrap();
    assert_eq!(error.code(), "common/invalid_input");
    assert!(error.message().starts_with("session.new changes something, so it takes"), "{error}");
    let listed = desk.send(envelope("session.list", json!({}), None)).await.result.unwrap();
    assert_eq!(field(&listed, "/items"), json!([]));
}

/// Each command is refused to whoever has all scopes but its own, and to a viewer if they may not.
async fn a_login_that_may_not_is_refused(world: World) {
    let desk = Desk::new(&world.db).await;
    let all = access("operator:owner", Role::Owner);
    let viewer = Desk { access: access("operator:eve", Role::Viewer), ..desk.clone() };
    for command in desk.commands.names() {
        let denied = viewer.give(command, json!({})).await.error.unwrap();
        assert_eq!(denied.code(), "auth/forbidden", "{command}");
    }
    let scopes = |name: &str| match name.split_once('.').unwrap() {
        ("approval", "decide") => "approvals:decide",
        ("approval", _) => "approvals:read",
        (_, "list" | "load" | "get") => "sessions:read",
        _ => "sessions:write",
    };
    for command in desk.commands.names() {
        let needed = scopes(command);
        let rest = all.scopes.iter().filter(|scope| scope.as_str() != needed).collect();
        let without = Desk {
            access: palyra_identity::Access { scopes: rest, ..all.clone() },
            ..desk.clone()
        };
        let error = without.give(command, json!({})).await.error.unwrap();
        assert_eq!(error.code(), "auth/forbidden", "{command}");
        assert!(error.message().contains(needed), "{command}: {error}");
    }
    let listed = desk.result("session.list", json!({})).await;
    assert_eq!(listed["items"], json!([]), "nothing was made");
}

async fn an_envelope_that_is_none_is_answered(world: World) {
    let desk = Desk::new(&world.db).await;
    let good = envelope("session.new", json!({}), Some("k"));
    let cases = [
        (AcpCommandEnvelope { v: 2, ..good.clone() }, "v: "),
        (AcpCommandEnvelope { request_id: "a b".into(), ..good.clone() }, "request_id"),
        (AcpCommandEnvelope { command: String::new(), ..good.clone() }, "command"),
        (AcpCommandEnvelope { idempotency_key: Some(" ".into()), ..good.clone() }, "idempotency"),
        (AcpCommandEnvelope { expected_version: Some(1), ..good.clone() }, "takes no expected"),
    ];
    for (sent, expected) in cases {
        let error = desk.send(sent).await.error.unwrap();
        assert_eq!(error.code(), "common/invalid_input", "{error}");
        assert!(error.message().contains(expected), "{error}");
    }
    assert!(!desk.send(good).await.replayed);
}
