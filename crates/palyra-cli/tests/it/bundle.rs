//! The support bundle.

use std::os::unix::fs::PermissionsExt;

use crate::world::{LIMIT, World};

#[test]
fn a_bundle_has_all_parts_and_no_secret() {
    let world = World::new();
    let _daemon = world.palyrad();
    let arguments = ["auth", "tokens", "create", "ci", "--scope", "status:read"];
    let token = world.palyra(&arguments).expect(0).out;
    world.palyra_reading(&["secrets", "set", "openai"], b"geheim-8161").expect(0);
    let log = world.data_dir().join("log");
    std::fs::create_dir_all(&log).unwrap();
    let lines = format!(
        "used {}\nopen postgres://anna:geheim@db/x\nlog in: http://127.0.0.1:1/login?code=abcdef\n",
        token.trim()
    );
    std::fs::write(log.join("palyrad.log"), lines).unwrap();

    world.palyra(&["bundle", "b.json"]).expect(0);
    world.palyra(&["bundle", "b.json"]).expect(6);
    let path = world.home().join("b.json");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    for secret in [token.trim(), "geheim", "abcdef"] {
        assert!(!text.contains(secret), "{secret} is in it: {text}");
    }
    let bundle: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(bundle["log"].as_array().unwrap().len(), 3);
    assert_eq!(bundle["status"]["ready"], true);
    assert_eq!(bundle["missing"], serde_json::json!([]));
    for part in [&bundle["config"]["options"], &bundle["events"], &bundle["checks"]] {
        assert!(!part.as_array().unwrap().is_empty(), "{text}");
    }
}

/// Nothing but the vault knows that it is one, and it was everywhere before the vault did.
#[test]
fn a_secret_that_was_logged_and_configured_before_it_was_set_is_not_in_the_bundle() {
    const CANARY: &str = "kanarienvogel-4711";
    let world = World::new();
    let _daemon = world.palyrad();
    world.palyra(&["config", "set", "http.hosts", CANARY]).expect(0);
    world.palyra(&["config", "set", "storage.blobs", &format!("/srv/{CANARY}")]).expect(0);
    let log = world.data_dir().join("log");
    std::fs::create_dir_all(&log).unwrap();
    std::fs::write(log.join("palyrad.log"), format!("before\nsaid {CANARY} aloud\n")).unwrap();
    let show = || world.palyra(&["config", "show", "--json"]).expect(0).out;
    let bundle = || world.palyra(&["bundle", "-"]).expect(0);
    assert!(show().contains(CANARY) && bundle().out.contains(CANARY), "it looks innocent");

    world.palyra_reading(&["secrets", "set", "openai"], CANARY.as_bytes()).expect(0);
    assert!(!show().contains(CANARY), "{}", show());
    let bundle = bundle();
    assert!(!bundle.out.contains(CANARY), "{}", bundle.out);
    let bundle = bundle.json();
    assert_eq!(bundle["redaction"], "by value and shape");
    assert_eq!(bundle["log"][1], "said [redacted:global/openai] aloud");
}

/// A log full of what is longer in a question than as it is.
#[test]
fn values_are_looked_for_also_where_the_daemon_takes_as_little_as_it_may() {
    const CANARY: &str = "kanarienvogel-4711";
    let world = World::new();
    let _daemon = world.palyrad();
    world.palyra(&["config", "set", "http.max_body_bytes", "131072"]).expect(0);
    world.palyra_reading(&["secrets", "set", "openai"], CANARY.as_bytes()).expect(0);
    let log = world.data_dir().join("log");
    std::fs::create_dir_all(&log).unwrap();
    let line = format!("said {CANARY} {}\n", "\"".repeat(90));
    std::fs::write(log.join("palyrad.log"), line.repeat(1_000)).unwrap();
    let ran = world.palyra(&["bundle", "-"]).expect(0);
    let bundle = ran.json();
    assert_eq!(bundle["redaction"], "by value and shape");
    assert!(!ran.out.contains(CANARY));
    let lines = bundle["log"].as_array().unwrap();
    assert!(lines.len() > 500, "{}", lines.len());
    assert!(lines.iter().all(|line| line.as_str().unwrap().starts_with("said [redacted:")));
}

/// Without its key a daemon does not know what to look for.
#[test]
fn a_bundle_says_that_no_value_was_looked_for_while_the_key_is_away() {
    const CANARY: &str = "kanarienvogel-4711";
    let world = World::new();
    let mut daemon = world.palyrad();
    world.palyra_reading(&["secrets", "set", "openai"], CANARY.as_bytes()).expect(0);
    let keys = world.home().join(".config/palyra/keys");
    let away = world.home().join("away");
    std::fs::rename(&keys, &away).unwrap();
    daemon.restart().unwrap();
    daemon.wait_ready(LIMIT).unwrap();
    let log = world.data_dir().join("log");
    std::fs::create_dir_all(&log).unwrap();
    std::fs::write(log.join("palyrad.log"), format!("said {CANARY} aloud\n")).unwrap();

    let ran = world.palyra(&["bundle", "-"]).expect(0);
    let bundle = ran.json();
    assert_eq!(bundle["missing"], serde_json::json!(["redaction"]), "{bundle:#}");
    assert_eq!(bundle["redaction"]["error"]["code"], "vault/no_key");
    assert_eq!(bundle["redaction"]["done"], "by shape");
    let told = "Values of secrets were not taken out, only what looks like one (";
    assert!(ran.err.contains(told), "{ran:?}");

    std::fs::rename(&away, &keys).unwrap();
    let bundle = world.palyra(&["bundle", "-"]).expect(0).json();
    assert_eq!(bundle["redaction"], "by value and shape", "the key is back");
    assert_eq!(bundle["log"][0], "said [redacted:global/openai] aloud");
}

#[test]
fn a_long_log_is_cut_at_its_beginning() {
    let world = World::new();
    let log = world.data_dir().join("log");
    std::fs::create_dir_all(&log).unwrap();
    let line = "x".repeat(50_000);
    std::fs::write(log.join("palyrad.log"), format!("{line}\n{line}\n{line}\nlast\n")).unwrap();
    let bundle = world.palyra(&["bundle", "-"]).expect(0).json();
    assert_eq!(bundle["log"], serde_json::json!([line, line, "last"]));
}

#[test]
fn without_a_daemon_the_parts_say_why_they_are_missing() {
    let world = World::new();
    let ran = world.palyra(&["bundle", "-"]).expect(0);
    let bundle = ran.json();
    let missing = serde_json::json!(["events", "log", "redaction", "status"]);
    assert_eq!(bundle["missing"], missing, "{bundle:#}");
    assert!(ran.err.contains("Not in it: events (no daemon runs on /"), "{ran:?}");
    let written = world.palyra(&["bundle", "b.json", "--json"]).expect(0).json();
    assert_eq!(written["missing"], missing);
    assert_eq!(bundle["status"]["error"]["code"], "client/daemon_not_running");
    assert_eq!(bundle["events"]["error"]["code"], "client/daemon_not_running");
    assert_eq!(bundle["redaction"]["error"]["code"], "client/daemon_not_running");
    assert_eq!(bundle["redaction"]["done"], "by shape");
    assert!(bundle["config"]["options"].is_array(), "{bundle:#}");
}
