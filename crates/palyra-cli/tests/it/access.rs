//! Tokens, and what they open.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

use crate::world::{LIMIT, World, ran, until};

fn token(world: &World, scope: &str) -> (String, String) {
    let arguments = ["auth", "tokens", "create", "test", "--scope", scope, "--json"];
    let created = world.palyra(&arguments).expect(0).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    (text(&created["token"]["id"]), text(&created["secret"]))
}

#[test]
fn a_token_opens_what_its_scopes_allow_and_nothing_after_it_is_revoked() {
    let world = World::new();
    let _daemon = world.palyrad();
    let host = world.host();
    let (id, secret) = token(&world, "status:read");
    let file = world.home().join("token");
    std::fs::write(&file, format!("{secret}\n")).unwrap();
    let remote = ["--json", "--host", &host, "--token-file", file.to_str().unwrap()];

    let status = world.palyra(&[&remote[..], &["status"]].concat()).expect(0).json();
    assert_eq!(status["ready"], true);
    let who = world.palyra(&[&remote[..], &["auth", "whoami"]].concat()).expect(0).json();
    assert_eq!(who["credential"], "token");
    let refused = world.palyra(&[&remote[..], &["audit", "list"]].concat()).expect(4);
    assert_eq!(refused.error_code(), "auth/forbidden");

    world.palyra(&["auth", "tokens", "revoke", &id, "--yes"]).expect(0);
    let revoked = world.palyra(&[&remote[..], &["status"]].concat()).expect(4);
    assert!(revoked.error_code().starts_with("auth/"), "{revoked:?}");
    world.palyra(&["auth", "tokens", "revoke", &id, "--yes"]).expect(0);
}

#[test]
fn a_token_comes_from_the_environment_too() {
    let world = World::new();
    let _daemon = world.palyrad();
    let (_, secret) = token(&world, "status:read");
    let host = world.host();
    let arguments = ["--json", "--host", &host, "auth", "whoami"];
    ran(world.command(&arguments).env("PALYRA_TOKEN", &secret)).expect(0);
    assert_eq!(world.palyra(&arguments).expect(4).error_code(), "auth/required");
    let unknown = format!("{}xx", &secret[..secret.len() - 2]);
    let refused = ran(world.command(&arguments).env("PALYRA_TOKEN", &unknown)).expect(4);
    assert!(!refused.err.contains(&secret[..12]), "{refused:?}");
}

/// What a browser is answered that uses `link`.
pub(crate) fn used(host: &str, link: &str) -> String {
    let (path, host) = (link.strip_prefix(host).unwrap(), host.strip_prefix("http://").unwrap());
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let ask = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    );
    stream.write_all(ask.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn somebody_is_let_in_and_shut_out_again() {
    let world = World::new();
    let _daemon = world.palyrad();
    world.palyra(&["auth", "principals", "add", "anna", "--role", "approver"]).expect(0);
    let made = world.palyra(&["auth", "login-link", "--for", "operator:anna"]).expect(0);
    let (link, note) = (made.out, made.err);
    assert!(note.contains("once, until 2") && note.contains("http.public_url"), "{note}");
    assert!(used(&world.host(), link.trim()).contains("303 See Other"), "{link}");
    let logins = world.palyra(&["auth", "logins", "list", "--json"]).expect(0).json();
    let login = &logins["items"][0];
    assert_eq!(login["principal"], "operator:anna");
    let id = login["id"].as_str().unwrap();
    let asked = world.palyra(&["auth", "logins", "end", id]).expect(2);
    assert!(asked.err.contains("--yes"), "{asked:?}");
    let ended = world.palyra(&["auth", "logins", "end", id, "--yes", "--json"]).expect(0).json();
    assert!(ended["ended_at"].is_number(), "{ended}");
    let asked = world.palyra(&["auth", "principals", "disable", "anna"]).expect(2);
    assert!(asked.err.contains("for good"), "{asked:?}");
    let help = world.palyra(&["auth", "principals", "disable", "--help"]).expect(0).out;
    assert!(help.contains("cannot be undone"), "{help}");
    world.palyra(&["auth", "principals", "disable", "anna", "--yes"]).expect(0);
    let arguments = ["auth", "login-link", "--for", "anna", "--json"];
    let refused = world.palyra(&arguments);
    assert_eq!(refused.error_code(), "common/conflict");
}

#[test]
fn a_token_that_does_not_exist_is_not_found() {
    let world = World::new();
    let _daemon = world.palyrad();
    let arguments = ["--json", "auth", "tokens", "revoke", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--yes"];
    assert_eq!(world.palyra(&arguments).expect(5).error_code(), "common/not_found");
}

/// While a program changes over from one to the next, there are both.
#[test]
fn two_tokens_of_one_name_are_told_apart() {
    let world = World::new();
    let _daemon = world.palyrad();
    let make = || {
        let arguments = ["auth", "tokens", "create", "ci", "--scope", "status:read", "--json"];
        let made = world.palyra(&arguments).expect(0).json()["token"].clone();
        (made["id"].as_str().unwrap().to_owned(), made["created_at"].as_i64().unwrap())
    };
    let both = [make(), make()];
    let listed = world.palyra(&["auth", "tokens", "list"]).expect(0).out;
    for (id, made) in &both {
        let line = listed.lines().find(|line| line.contains(id)).unwrap();
        let made = palyra_common::Timestamp::from_unix_millis(*made).to_string();
        assert!(line.contains(&made) && line.contains("operator:owner"), "{listed}");
    }
    let refused = world.palyra(&["auth", "tokens", "revoke", "ci", "--yes"]).expect(6).err;
    assert!(both.iter().all(|(id, _)| refused.contains(id)), "{refused}");
}

#[test]
fn the_secret_of_a_new_token_is_alone_on_standard_output() {
    let world = World::new();
    let _daemon = world.palyrad();
    let arguments = ["auth", "tokens", "create", "x", "--scope", "status:read", "--expires", "1d"];
    let created = world.palyra(&arguments).expect(0);
    assert!(created.out.starts_with("ply_") && created.out.lines().count() == 1, "{created:?}");
    let listed = world.palyra(&["auth", "tokens", "list"]).expect(0).out;
    assert!(!listed.contains(created.out.trim()), "{listed}");
}

#[test]
fn the_doctor_takes_permissions_away_from_others() {
    let world = World::new();
    let _daemon = world.palyrad();
    let data_dir = world.data_dir();
    std::fs::set_permissions(&data_dir, PermissionsExt::from_mode(0o755)).unwrap();
    let fixed = world.palyra(&["doctor", "--fix", "--json"]).json();
    assert_eq!(fixed["fixed"], serde_json::json!(["data_directory_private"]));
    let mode = std::fs::metadata(&data_dir).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn pages_of_the_audit_trail_go_on_where_they_ended() {
    let world = World::new();
    let _daemon = world.palyrad();
    for _ in 0..3 {
        token(&world, "status:read");
    }
    let list = |more: &[&str]| {
        let arguments = [&["audit", "list", "--action", "token.", "--json"][..], more].concat();
        world.palyra(&arguments).expect(0).json()
    };
    let all = list(&[]);
    let items = all["items"].as_array().unwrap();
    assert!(items.len() >= 3, "{all:#}");
    let first = list(&["--limit", "1"]);
    assert_eq!(first["items"][0], items[0]);
    let rest = list(&["--after", first["next"].as_str().unwrap()]);
    assert_eq!(rest["items"].as_array().unwrap()[..], items[1..]);
    let oldest = list(&["--oldest-first", "--limit", "1"]);
    assert_eq!(oldest["items"][0], items[items.len() - 1]);
    assert_eq!(list(&["--until", "1d"])["items"], serde_json::json!([]));
}

#[test]
fn a_token_is_revoked_by_a_name_that_only_one_has() {
    let world = World::new();
    let _daemon = world.palyrad();
    let (id, _) = token(&world, "status:read");
    let by_name = ["auth", "tokens", "revoke", "test", "--yes", "--json"];
    assert_eq!(world.palyra(&by_name).expect(0).json()["id"], id.as_str());
    assert_eq!(world.palyra(&by_name).expect(5).error_code(), "common/not_found");
    let ids = [token(&world, "status:read").0, token(&world, "status:read").0];
    let refused = world.palyra(&by_name).expect(6);
    assert!(ids.iter().all(|id| refused.err.contains(id)), "{refused:?}");
}

#[test]
fn the_page_that_logs_in_is_removed() {
    let world = World::new();
    let _daemon = world.palyrad();
    // Stands for the browser: it writes down what it was given.
    let seen = world.home().join("seen");
    let script =
        format!("#!/bin/sh\nread -r page < \"$1\"; echo \"$page\" > '{}'\n", seen.display());
    std::fs::create_dir(world.programs()).unwrap();
    let opener = world.programs().join("xdg-open");
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, PermissionsExt::from_mode(0o755)).unwrap();
    let runtime = world.home().join("run");
    std::fs::create_dir(&runtime).unwrap();
    let mut command = world.command(&["dashboard", "--keep-page", "2"]);
    ran(command.env("DISPLAY", ":0").env("XDG_RUNTIME_DIR", &runtime)).expect(0);
    until("the browser was given the link", || {
        std::fs::read_to_string(&seen).is_ok_and(|page| page.contains("login?code="))
    });
    until("the page is gone", || std::fs::read_dir(&runtime).unwrap().next().is_none());
}

#[test]
fn a_vault_that_cannot_be_used_is_a_fault() {
    let world = World::new();
    let mut daemon = world.palyrad();
    world.palyra_reading(&["secrets", "set", "openai"], b"geheim").expect(0);
    daemon.terminate(LIMIT).unwrap();
    let config = "[vault]\nkey_source = \"passphrase\"\n";
    std::fs::write(world.data_dir().join("palyra.toml"), config).unwrap();
    daemon.restart().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    let status = world.palyra(&["status", "--json"]).expect(7).json();
    assert_eq!((&status["ready"], status["vault"]["problem"].is_object()), (&true.into(), true));
}

#[test]
fn the_doctor_sees_a_damaged_database_without_a_daemon() {
    let world = World::new();
    let mut daemon = world.palyrad();
    daemon.terminate(LIMIT).unwrap();
    let database = || {
        let report = world.palyra(&["doctor", "--json"]).expect(7).json();
        let checks = report["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "database").unwrap()
    };
    assert_eq!(database()["state"], "ok");
    let file = world.data_dir().join("palyra.db");
    let whole = std::fs::read(&file).unwrap();
    let mut holed = whole.clone();
    holed[8192..].fill(b'x');
    for damaged in [&holed[..], b"no database at all, but long enough to have a head of its own"] {
        std::fs::write(&file, damaged).unwrap();
        let check = database();
        assert_eq!(check["state"], "failed", "{check}");
        assert!(check["advice"].as_str().unwrap().contains("`palyra backup restore"), "{check}");
    }
}

#[test]
fn what_only_the_local_owner_may_do_says_where_to_do_it() {
    let world = World::new();
    let _daemon = world.palyrad();
    let token =
        ["auth", "tokens", "create", "x", "--scope", "config:read", "--scope", "config:write"];
    std::fs::write(world.home().join("token"), world.palyra(&token).expect(0).out).unwrap();
    let host = world.host();
    let remote = ["--host", &host, "--token-file", "token", "--json"];
    let change = ["config", "set", "vault.key_source", "file"];
    let refused = world.palyra(&[&remote[..], &change].concat()).expect(4);
    assert_eq!(refused.error_code(), "auth/local_only");
    assert!(!refused.err.contains("scope"), "no scope is enough: {refused:?}");
    assert!(refused.err.contains("without --host"), "{refused:?}");
}

#[test]
fn a_token_whose_secret_was_not_printed_is_revoked() {
    let world = World::new();
    let _daemon = world.palyrad();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command =
        world.command(&["auth", "tokens", "create", "lost", "--scope", "status:read"]);
    command.stdout(full()).stderr(std::process::Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    let listed = world.palyra(&["auth", "tokens", "list", "--json"]).expect(0).json();
    let token = listed["items"].as_array().unwrap().iter().find(|it| it["name"] == "lost");
    // The list may leave out what was revoked.
    assert!(token.is_none_or(|token| !token["revoked_at"].is_null()), "{listed:#}");
    assert!(told.contains("was revoked again"), "{told}");
}
