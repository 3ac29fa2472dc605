//! Going back to the copy that a newer release has kept before it migrated the database.

use std::path::Path;

use palyra_storage::SCHEMA_VERSION;
use palyra_testkit::fs::private_tempdir;
use palyra_testkit::process::Stream;
use serde_json::{Value, json};

use crate::daemon::{Daemon, LIMIT, config_home, palyrad, refused};
use crate::restore::restore;
use crate::storage_faults::migrate_to_the_future;

/// A node that was logged in to and holds a secret, migrated by a newer release since. Says which
/// cookie its login has.
fn a_migrated_node(data: &Path) -> String {
    let mut daemon = Daemon::of(palyrad().data_dir(data));
    let login = daemon.tcp("POST", &daemon.login_path(), &[], "");
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let secret = json!({ "value": "geheim" });
    assert_eq!(daemon.ask("PUT", "/admin/v1/secrets/global/key", &secret).status, 200);
    daemon.process.terminate(LIMIT).unwrap();
    migrate_to_the_future(data);
    format!("Cookie: {cookie}")
}

#[test]
fn the_older_release_says_how_to_go_back_and_does_it() {
    let folder = private_tempdir().unwrap();
    let data = folder.path().join("my data");
    let cookie = a_migrated_node(&data);
    let (code, told) = refused(palyrad().data_dir(&data));
    assert_eq!(code, Some(1), "{told}");
    let copy = data.join(format!("palyra.db.schema-{SCHEMA_VERSION}.copy"));
    let command =
        format!("`palyra --data-dir '{}' backup restore '{}'`", data.display(), copy.display());
    assert!(told.contains(&command) && told.contains("storage/newer_schema"), "{told}");

    let mut checked = palyrad().arg("verify-backup").arg(&copy).arg("--json").spawn().unwrap();
    assert_eq!(checked.wait(LIMIT).unwrap().code(), Some(0), "{}", checked.logs());
    let found: Value =
        serde_json::from_str(&checked.lines(Stream::Stdout).unwrap().join("\n")).unwrap();
    assert_eq!(found, json!({ "kind": "copy", "schema": SCHEMA_VERSION }));

    let newer = std::fs::read(data.join("palyra.db")).unwrap();
    let mut going_back =
        restore(&copy, &data).arg("--json").env("XDG_CONFIG_HOME", config_home()).spawn().unwrap();
    assert_eq!(going_back.wait(LIMIT).unwrap().code(), Some(0), "{}", going_back.logs());
    let told: Value =
        serde_json::from_str(&going_back.lines(Stream::Stdout).unwrap().join("\n")).unwrap();
    let kept = data.join("palyra.db.replaced-1");
    let facts = (&told["kind"], &told["schema"], &told["replaced"], &told["logins_ended"]);
    let expected = (&json!("copy"), &json!(SCHEMA_VERSION), &json!(kept), &json!(1));
    assert_eq!(facts, expected, "{told}");
    assert_eq!(told["replaced_log"], Value::Null, "it was closed in order");
    assert_eq!(std::fs::read(kept).unwrap(), newer, "what was there is kept as it was");

    let daemon = Daemon::of(palyrad().data_dir(&data));
    let refused = daemon.tcp("GET", "/admin/v1/status", &[&cookie], "");
    assert_eq!(refused.code(), "auth/revoked");
    let events = daemon.get("/admin/v1/events?action=backup.restored");
    assert_eq!(events["items"].as_array().unwrap().len(), 1, "{events}");
    let vault = daemon.get("/admin/v1/status")["vault"].take();
    assert!(vault.get("problem").is_none() && vault["key_id"].is_string(), "{vault}");
}

#[test]
fn a_copy_that_is_damaged_or_of_a_newer_release_is_refused() {
    let folder = private_tempdir().unwrap();
    let data = folder.path();
    a_migrated_node(data);
    let before = std::fs::read(data.join("palyra.db")).unwrap();
    let copy = data.join(format!("palyra.db.schema-{SCHEMA_VERSION}.copy"));
    let mut bytes = std::fs::read(&copy).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0xff);
    std::fs::write(&copy, bytes).unwrap();
    let newer = data.join("newer.copy");
    std::fs::copy(data.join("palyra.db"), &newer).unwrap();
    for (file, code, class) in [(&copy, "backup/invalid", 7), (&newer, "storage/newer_schema", 1)] {
        let (exit, told) = refused(restore(file, data));
        assert_eq!(exit, Some(class), "{told}");
        assert!(told.contains(code) && told.contains("what to do:"), "{told}");
    }
    assert_eq!(std::fs::read(data.join("palyra.db")).unwrap(), before);
    assert!(!data.join("palyra.db.replaced-1").exists());
}
