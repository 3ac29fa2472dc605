//! What programs read, as reviewed snapshots.

use serde_json::Value;

use crate::world::World;

/// Fields that differ from run to run.
const CHANGING: &[&str] = &[
    "at",
    "bytes",
    "changed_at",
    "connected_since",
    "created_at",
    "data_dir",
    "disabled_at",
    "expires_at",
    "file",
    "grpc",
    "hash",
    "http",
    "id",
    "key_source",
    "last_ack_at",
    "last_event_at",
    "last_used_at",
    "link",
    "log",
    "next",
    "node",
    "paused_at",
    "pid",
    "schema",
    "secret",
    "seq",
    "started_at",
    "subject",
    "version",
];

/// How names of messages begin that the daemon has made up.
const MADE_UP: &[&str] = &["echo-", "run-", "test-"];

/// Replaces what changes by the name of its field.
pub(crate) fn masked(mut document: Value) -> Value {
    mask(&mut document);
    document
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if CHANGING.contains(&name.as_str()) && !inner.is_null() && !inner.is_object() {
                    *inner = format!("[{name}]").into();
                } else {
                    mask(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::String(text) => {
            let made_up = |prefix: &&&str| text.len() > 26 && text.starts_with(**prefix);
            if let Some(prefix) = MADE_UP.iter().find(made_up) {
                *text = format!("{prefix}[id]");
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn the_shapes_are_as_reviewed() {
    let world = World::new();
    let _daemon = world.palyrad();
    let shape = |name: &str, arguments: &[&str]| {
        let ran = world.palyra(&[arguments, &["--json"]].concat());
        assert_eq!(ran.err, "", "{arguments:?}");
        insta::assert_json_snapshot!(name, masked(ran.json()));
    };
    shape("status", &["status"]);
    shape("daemon_status", &["daemon", "status"]);
    shape("whoami", &["auth", "whoami"]);
    shape("token_created", &["auth", "tokens", "create", "ci", "--scope", "status:read"]);
    shape("tokens", &["auth", "tokens", "list"]);
    shape("dashboard", &["dashboard"]);
    shape("principal_added", &["auth", "principals", "add", "anna", "--role", "viewer"]);
    shape("login_link", &["auth", "login-link", "--for", "anna"]);
    shape("principal_disabled", &["auth", "principals", "disable", "anna", "--yes"]);
    shape("principals", &["auth", "principals", "list"]);
    shape("logins", &["auth", "logins", "list"]);
    shape("audit_list", &["audit", "list", "--action", "token."]);
    shape("config_get", &["config", "get", "log.level"]);
    shape("deployment_local", &["deployment", "explain", "local"]);
    world.palyra_reading(&["secrets", "set", "openai"], b"geheim").expect(0);
    shape("secrets", &["secrets", "list"]);
    shape("secret_deleted", &["secrets", "delete", "openai", "--yes"]);
    let verified = world.palyra(&["audit", "verify", "--json"]).expect(0).json();
    assert!(verified["entries"].as_u64().unwrap() > 3 && verified["fault"].is_null(), "{verified}");
}

#[test]
fn the_doctor_has_the_same_shape_with_and_without_a_daemon() {
    let world = World::new();
    let alone = world.palyra(&["doctor", "--json"]).expect(7).json();
    let _daemon = world.palyrad();
    let with = world.palyra(&["doctor", "--json"]).json();
    for report in [&alone, &with] {
        assert!(report["fixed"].as_array().unwrap().is_empty());
        for check in report["checks"].as_array().unwrap() {
            assert!(check["name"].is_string() && check["seen"].is_string(), "{check}");
            let state = check["state"].as_str().unwrap();
            assert!(["ok", "warning", "failed", "skipped"].contains(&state), "{check}");
        }
    }
    let state_of = |report: &Value, name: &str| {
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no check {name}: {report:#}"))["state"].clone()
    };
    assert_eq!(state_of(&alone, "daemon"), "failed");
    assert_eq!(state_of(&with, "daemon"), "ok");
    assert_eq!(state_of(&with, "version"), "ok");
}
