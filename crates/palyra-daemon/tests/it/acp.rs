//! Commands of the Agent Control Protocol, as a console sends them.

use palyra_testkit::fs::private_tempdir;
use serde_json::{Value, json};

use crate::daemon::{Answer, Daemon, palyrad};

const PATH: &str = "/console/v1/acp";
const JSON: &str = "Content-Type: application/json";

fn envelope(command: &str, params: Value, key: &str) -> Value {
    json!({
        "v": 1, "request_id": "r-1", "command": command, "params": params, "idempotency_key": key,
    })
}

impl Daemon {
    fn command(&self, command: &str, params: Value, key: &str) -> Value {
        let told = self.ask("POST", PATH, &envelope(command, params, key));
        assert_eq!(told.status, 200, "{told:?}");
        let told = told.json();
        assert_eq!((&told["request_id"], &told["command"]), (&json!("r-1"), &json!(command)));
        told
    }

    fn command_as(&self, secret: &str, envelope: &Value) -> Answer {
        let bearer = format!("Authorization: Bearer {secret}");
        self.tcp("POST", PATH, &[&bearer, JSON], &envelope.to_string())
    }
}

#[test]
fn a_conversation_is_had_by_commands() {
    let daemon = Daemon::start();
    let begun = daemon.command("session.new", json!({ "title": "a plan", "surface": "web" }), "a");
    assert_eq!((&begun["ok"], &begun["replayed"]), (&json!(true), &json!(false)));
    let session = &begun["result"]["id"];
    let asked = json!({ "session": session, "text": "write notes.txt: buy milk" });
    let run = daemon.command("run.create", asked.clone(), "b")["result"]["run"].clone();
    daemon.until_run(run.as_str().unwrap(), "waiting_for_approval");
    let waiting = daemon.command("approval.list", json!({ "state": "pending" }), "c");
    let question = &waiting["result"]["items"][0];
    let answer = json!({
        "approval": question["id"], "verdict": "approve",
        "payload_sha256": question["payload_sha256"],
    });
    let decided = daemon.command("approval.decide", answer.clone(), "d");
    assert_eq!(decided["result"]["decided_by"], "operator:owner", "{decided}");
    daemon.until_run(run.as_str().unwrap(), "completed");
    assert!(daemon.data_dir().join("workspaces/default/notes.txt").exists());
    let again = daemon.command("approval.decide", answer, "d");
    assert_eq!((&again["replayed"], &again["result"]), (&json!(true), &decided["result"]));
    assert_eq!(daemon.command("run.create", asked, "b")["result"]["run"], run);
    let trail = daemon.get("/admin/v1/events?action=approval.");
    let [entry] = &trail["items"].as_array().unwrap()[..] else { panic!("{trail}") };
    assert_eq!(
        (&entry["action"], &entry["origin"]),
        (&json!("approval.approved"), &json!("socket"))
    );
}

#[test]
fn a_key_stands_for_its_command_after_a_restart() {
    let folder = private_tempdir().unwrap();
    let daemon = Daemon::of(palyrad().data_dir(folder.path()));
    let new = json!({ "title": "a plan" });
    let first = daemon.command("session.new", new.clone(), "k");
    drop(daemon);
    let daemon = Daemon::of(palyrad().data_dir(folder.path()));
    let again = daemon.command("session.new", new, "k");
    assert_eq!((&again["replayed"], &again["result"]), (&json!(true), &first["result"]));
    let other = daemon.command("session.new", json!({ "title": "another" }), "k");
    assert_eq!((&other["ok"], &other["error"]["code"]), (&json!(false), &json!("common/conflict")));
    let sessions = daemon.get("/admin/v1/sessions");
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1, "{sessions}");
}

#[test]
fn what_may_be_done_follows_from_the_login() {
    let daemon = Daemon::start();
    let (_, viewer) = daemon.token(&["status:read", "agents:read"]);
    let new = envelope("session.new", json!({}), "k");
    let refused = daemon.command_as(&viewer, &new);
    assert_eq!(refused.status, 200, "a command that was read is answered");
    let refused = refused.json();
    assert_eq!(
        (&refused["ok"], &refused["error"]["code"]),
        (&json!(false), &json!("auth/forbidden"))
    );
    assert!(refused["error"]["message"].as_str().unwrap().contains("sessions:write"), "{refused}");

    // Nobody says themselves what they may do.
    let mut claims = new.clone();
    claims["scopes"] = json!(["sessions:write"]);
    let answer = daemon.command_as(&viewer, &claims);
    assert_eq!((answer.status, answer.code().as_str()), (400, "http/malformed"));
    let claims = envelope("session.new", json!({ "scopes": ["sessions:write"] }), "k");
    let (_, writer) = daemon.token(&["sessions:write"]);
    let answer = daemon.command_as(&writer, &claims).json();
    assert_eq!(answer["error"]["details"], json!({ "path": "params.scopes" }), "{answer}");
    assert_eq!(daemon.command_as(&writer, &new).json()["ok"], true);
    let sessions = daemon.get("/admin/v1/sessions");
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1, "{sessions}");

    let nobody = daemon.tcp("POST", PATH, &[JSON], &new.to_string());
    assert_eq!((nobody.status, nobody.code().as_str()), (401, "auth/required"));
}

#[test]
fn what_is_no_envelope_is_an_error() {
    let daemon = Daemon::start();
    let good = envelope("session.list", json!({}), "k");
    for (name, value) in [
        ("v", json!(2)),
        ("request_id", json!("a b")),
        ("command", json!("")),
        ("idempotency_key", json!("k".repeat(129))),
        ("params", json!([])),
        ("expected_version", json!(-1)),
    ] {
        let mut wrong = good.clone();
        wrong[name] = value;
        let answer = daemon.ask("POST", PATH, &wrong);
        assert_eq!(answer.status, 400, "{name}: {answer:?}");
        assert!(answer.json()["message"].as_str().unwrap().contains(name), "{answer:?}");
    }
    assert_eq!(daemon.ask("POST", PATH, &good).json()["ok"], true);
}
