//! Data directories of earlier schemas.

use crate::daemon::{Daemon, palyrad};

/// Every fixture of a released schema is opened by the daemon, and works.
#[test]
fn the_data_directory_of_every_earlier_schema_opens_and_works() {
    let fixtures =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../palyra-storage/tests/fixtures");
    let mut opened = 0;
    for entry in std::fs::read_dir(fixtures).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "db") {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(&path, folder.path().join("palyra.db")).unwrap();
        let daemon = Daemon::of(palyrad().data_dir(folder.path()));
        let value = r#"{"value": "a secret of today"}"#;
        let stored = daemon.local("PUT", "/admin/v1/secrets/global/x", value);
        assert_eq!(stored.status, 200, "{path:?}: {stored:?}");
        let verified = daemon.local("POST", "/admin/v1/events/verify", "").json();
        assert!(
            verified["fault"].is_null() && verified["entries"].as_i64() > Some(2),
            "{verified}"
        );
        assert_eq!(daemon.tcp("POST", &daemon.login_path(), &[], "").status, 303);
        opened += 1;
    }
    assert_eq!(opened, palyra_storage::SCHEMA_VERSION, "every schema has a fixture");
}
