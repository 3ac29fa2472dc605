use serde_json::json;

use super::*;

fn check(told: Option<&str>, xdg: Option<&str>, home: Option<&str>, expected: Option<&str>) {
    let around =
        Surroundings { xdg_data_home: xdg.map(Into::into), home: home.map(OsString::from) };
    assert_eq!(locate(told.map(Into::into), around), expected.map(PathBuf::from));
}

#[test]
fn what_is_told_wins_then_the_platform_says() {
    check(Some("/srv/p"), Some("/x"), Some("/home/a"), Some("/srv/p"));
    check(None, Some("/x"), Some("/home/a"), Some("/x/palyra"));
    let of_home = if cfg!(target_os = "macos") {
        "/home/a/Library/Application Support/palyra"
    } else {
        "/home/a/.local/share/palyra"
    };
    check(None, None, Some("/home/a"), Some(of_home));
    check(None, Some(""), Some("/home/a"), Some(of_home));
    check(None, Some("rel"), Some("/home/a"), Some(of_home));
    check(None, None, Some(""), None);
    check(None, None, None, None);
}

#[test]
fn the_runtime_file_has_the_agreed_shape() {
    let file = json!({
        "pid": 7,
        "version": "0.1.0",
        "http": "127.0.0.1:7142",
        "grpc": "127.0.0.1:7143",
        "socket": "/srv/p/palyra.sock",
        "started_at": 1_700_000_000_000_i64,
        "options": ["--log-level", "warn"],
        "variables": ["PALYRA_HTTP_BIND"],
    });
    let running: Running = serde_json::from_value(file.clone()).unwrap();
    assert_eq!(serde_json::to_value(running).unwrap(), file);
}

#[test]
fn the_runtime_file_of_an_earlier_version_is_read() {
    let file = json!({
        "pid": 7,
        "version": "0.1.0",
        "http": "127.0.0.1:7142",
        "grpc": "127.0.0.1:7143",
        "socket": "/srv/p/palyra.sock",
        "started_at": 1_700_000_000_000_i64,
    });
    let running: Running = serde_json::from_value(file).unwrap();
    assert!(running.options.is_empty() && running.variables.is_empty());
}
