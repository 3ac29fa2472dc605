//! What programs rely on: which fields the JSON of every command has, and of which type, as one
//! reviewed table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::access::used;
use crate::world::{Background, Ran, World};

/// Commands without a JSON form.
const NO_JSON: [&str; 3] = ["completions", "daemon run", "help"];
/// Groups whose commands have snapshots of their own.
const ELSEWHERE: [&str; 9] = [
    "channels ",
    "router ",
    "message ",
    "agents ",
    "sessions ",
    "runs ",
    "approvals ",
    "models ",
    "chat",
];

/// The types of a document: fields by name, and of a list what all its items may have.
pub(crate) fn shape(document: &Value) -> Value {
    match document {
        Value::Null => json!("null"),
        Value::Bool(_) => json!("bool"),
        Value::Number(_) => json!("number"),
        Value::String(_) => json!("text"),
        Value::Array(items) => {
            let items = items.iter().map(shape).reduce(both);
            Value::Array(items.into_iter().collect())
        }
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), shape(value))).collect()
        }
    }
}

/// What is of either shape.
fn both(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => merged(one, other).into(),
        (Value::Array(one), Value::Array(other)) => {
            Value::Array(one.into_iter().chain(other).reduce(both).into_iter().collect())
        }
        (one, other) if one == other => one,
        // Each of them once, in a fixed order.
        (one, other) => {
            let text = |shape: &Value| shape.as_str().map_or_else(|| shape.to_string(), Into::into);
            let (one, other) = (text(&one), text(&other));
            let all: BTreeSet<&str> = one.split(" or ").chain(other.split(" or ")).collect();
            json!(all.into_iter().collect::<Vec<_>>().join(" or "))
        }
    }
}

fn merged(one: Map<String, Value>, other: Map<String, Value>) -> Map<String, Value> {
    let mut fields = one;
    for (name, value) in other {
        let value = match fields.remove(&name) {
            Some(found) => both(found, value),
            None => value,
        };
        fields.insert(name, value);
    }
    fields.sort_keys();
    fields
}

#[test]
fn a_shape_is_what_all_items_have() {
    let document = json!({ "b": [{ "x": 1 }, { "x": null, "y": "" }, { "x": 2 }], "a": [] });
    let expected = json!({ "a": [], "b": [{ "x": "null or number", "y": "text" }] });
    assert_eq!(shape(&document), expected);
}

/// With what is told only on a machine that is slow, full or nameless.
fn on_any_machine(mut document: Value) -> Value {
    if let Some(checks) = document.get_mut("checks").and_then(Value::as_array_mut) {
        checks.iter_mut().for_each(|check| check["advice"] = json!(""));
    }
    if let Some(system) = document.get_mut("system") {
        system["name"] = json!("");
    }
    document
}

/// Commands that were run, with how they ended and what they printed.
struct Table<'a> {
    world: &'a World,
    rows: BTreeMap<String, Value>,
}

impl Table<'_> {
    /// Runs `command`, a name with arguments behind it, and keeps its shape under `name`.
    fn row(&mut self, name: &str, arguments: &[&str], code: i32) -> Value {
        let words: Vec<&str> = name.split(" (").next().unwrap().split(' ').collect();
        let ran = self.world.palyra(&[&words[..], &["--json"], arguments].concat());
        self.keep(name, ran, code)
    }

    /// The same for what goes to standard error.
    fn refused(&mut self, name: &str, code: i32) {
        let words: Vec<&str> = name.split(" (").next().unwrap().split(' ').collect();
        let ran = self.world.palyra(&[&words[..], &["--json"]].concat()).expect(code);
        assert_eq!(ran.out, "", "{name}");
        let document: Value = serde_json::from_str(&ran.err).unwrap();
        self.rows.insert(name.to_owned(), json!({ "exit": code, "error": shape(&document) }));
    }

    fn keep(&mut self, name: &str, ran: Ran, code: i32) -> Value {
        assert_eq!(ran.err, "", "{name}");
        let document = ran.expect(code).json();
        let row = json!({ "exit": code, "document": shape(&on_any_machine(document.clone())) });
        assert!(self.rows.insert(name.to_owned(), row).is_none(), "{name} twice");
        document
    }
}

#[test]
fn every_command_has_the_shape_that_was_reviewed() {
    let world = World::new();
    let mut table = Table { world: &world, rows: BTreeMap::new() };
    without_a_daemon(&mut table);
    {
        let _background = Background(&world);
        table.row("daemon start", &[], 0);
        access(&mut table);
        configuration(&mut table);
        secrets(&mut table);
        let verified = table.row("audit verify", &[], 0);
        assert_eq!(verified["fault"], Value::Null);
        table.row("audit list", &["--action", "token."], 0);
        table.row("backup create", &["b.tar.gz"], 0);
        table.row("bundle", &["bundle.json"], 0);
        table.row("daemon logs", &[], 0);
        table.row("daemon restart", &[], 0);
        table.row("doctor (running)", &[], 0);
        table.row("daemon status", &[], 0);
        table.row("status", &[], 0);
        table.row("daemon stop", &[], 0);
    }
    backups(&mut table);
    let bundle = std::fs::read_to_string(world.home().join("bundle.json")).unwrap();
    let bundle: Value = serde_json::from_str(&bundle).unwrap();
    table.rows.insert("bundle (the file)".into(), shape(&on_any_machine(bundle)));

    let known: Vec<&str> = table.rows.keys().map(|name| name.split(" (").next().unwrap()).collect();
    let missing: Vec<String> = commands(&world, "")
        .into_iter()
        .filter(|name| !NO_JSON.contains(&name.as_str()) && !known.contains(&name.as_str()))
        .filter(|name| !ELSEWHERE.iter().any(|group| name.starts_with(group)))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
    insta::assert_json_snapshot!("of_every_command", table.rows);
}

fn without_a_daemon(table: &mut Table<'_>) {
    table.row("daemon install (without systemd)", &["--no-start"], 1);
    table.row("daemon uninstall (without systemd)", &["--yes"], 1);
    table.row("daemon status (not running)", &[], 3);
    table.refused("status (not running)", 3);
    // Whatever else runs on this machine.
    table.row("config set (not running)", &["http.bind", "127.0.0.1:0"], 0);
    for (option, value) in [("grpc.bind", "127.0.0.1:0"), ("log.level", "debug")] {
        table.world.palyra(&["config", "set", option, value]).expect(0);
    }
    table.row("doctor (not running)", &[], 7);
    table.row("config show (not running)", &[], 0);
    table.row("config unset (not running)", &["log.level"], 0);
    table.row("config validate", &[], 0);
    table.row("config explain", &["http.bind"], 0);
    table.row("deployment profiles", &[], 0);
    table.row("deployment explain", &["worker-enabled"], 0);
    table.row("deployment preflight", &[], 0);
}

fn access(table: &mut Table<'_>) {
    table.row("auth whoami", &[], 0);
    let made = table.row("auth tokens create", &["ci", "--scope", "status:read"], 0);
    table.row("auth tokens list", &[], 0);
    let id = made["token"]["id"].as_str().unwrap();
    table.row("auth tokens revoke", &[id, "--yes"], 0);
    table.row("auth principals add", &["anna", "--role", "viewer"], 0);
    let made = table.row("auth login-link", &["--for", "anna"], 0);
    let entered = used(&table.world.host(), made["link"].as_str().unwrap());
    assert!(entered.contains("303 See Other"), "{entered}");
    let logins = table.row("auth logins list", &[], 0);
    let id = logins["items"][0]["id"].as_str().unwrap();
    table.row("auth logins end", &[id, "--yes"], 0);
    table.row("auth principals disable", &["anna", "--yes"], 0);
    table.row("auth principals list", &[], 0);
    table.row("dashboard", &[], 0);
}

fn configuration(table: &mut Table<'_>) {
    table.row("config set", &["http.max_json_depth", "16"], 0);
    table.row("config show", &[], 0);
    table.row("config get", &["http.max_json_depth"], 0);
    table.row("config unset", &["http.max_json_depth"], 0);
}

fn secrets(table: &mut Table<'_>) {
    let set = table.world.palyra_reading(&["secrets", "set", "openai", "--json"], b"geheim");
    table.keep("secrets set", set, 0);
    table.row("secrets list", &[], 0);
    table.row("secrets rotate-master", &["--yes"], 0);
    table.row("secrets delete", &["openai", "--yes"], 0);
}

/// Of one shape, whatever is found.
fn backups(table: &mut Table<'_>) {
    let whole = table.row("backup verify", &["b.tar.gz"], 0);
    damage(&table.world.home().join("b.tar.gz"), &table.world.home().join("damaged.tar.gz"));
    let damaged = table.row("backup verify (damaged)", &["damaged.tar.gz"], 7);
    let names =
        |document: &Value| document.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&whole), names(&damaged));
    let copy = table.world.home().join("palyra.db.schema-1.copy");
    std::fs::copy(table.world.data_dir().join("palyra.db"), copy).unwrap();
    let copy = table.row("backup verify (a copy)", &["palyra.db.schema-1.copy"], 0);
    assert_eq!(names(&whole), names(&copy));
    std::fs::rename(table.world.data_dir(), table.world.home().join("before")).unwrap();
    table.row("backup restore", &["b.tar.gz", "--yes"], 0);
}

fn damage(from: &Path, to: &Path) {
    let mut bytes = std::fs::read(from).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(to, bytes).unwrap();
}

/// Every command below `group`, as its help names them.
fn commands(world: &World, group: &str) -> Vec<String> {
    let words: Vec<&str> = group.split(' ').filter(|word| !word.is_empty()).collect();
    let help = world.palyra(&[&words[..], &["--help"]].concat()).expect(0).out;
    let Some((_, listed)) = help.split_once("\nCommands:\n") else { return vec![group.to_owned()] };
    let listed = listed.lines().take_while(|line| line.starts_with("  "));
    let names = listed.filter(|line| !line.starts_with("   ")).map(|line| line.trim_start());
    let names = names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help");
    names.flat_map(|name| commands(world, format!("{group} {name}").trim_start())).collect()
}
