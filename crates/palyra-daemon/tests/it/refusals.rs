//! Bad requests: each is told why, and the daemon goes on.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use palyra_testkit::fs::private_tempdir;

use crate::daemon::{Answer, Daemon, LIMIT, palyrad, parse, refused};

#[test]
fn a_foreign_name_is_refused() {
    let daemon = Daemon::start();
    let port = daemon.http.port();
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "localhost:1"] {
        let answer = daemon.tcp("GET", "/healthz", &[&format!("Host: {host}")], "");
        assert_eq!((answer.status, answer.code().as_str()), (421, "http/host_refused"), "{host}");
    }
    let without = parse(&daemon.raw(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"));
    assert_eq!(without.code(), "http/host_refused");
    for host in ["localhost", "LOCALHOST", "[::1]"] {
        let answer = daemon.tcp("GET", "/healthz", &[&format!("Host: {host}:{port}")], "");
        assert_eq!(answer.status, 200, "{host}");
    }
}

/// What stands in the first line wins over the header (RFC 9112, 3.2.2), so both must be ours, and
/// the same.
#[test]
fn two_names_in_one_request_are_refused() {
    let daemon = Daemon::start();
    let (ours, port) = (daemon.http.to_string(), daemon.http.port());
    let ask = |target: &str, host: &str| {
        let head = format!("GET http://{target}/healthz HTTP/1.1\r\nHost: {host}\r\n");
        parse(&daemon.raw(format!("{head}Connection: close\r\n\r\n").as_bytes()))
    };
    for target in ["evil.example", &format!("localhost:{port}"), &format!("evil@{ours}")] {
        let answer = ask(target, &ours);
        assert_eq!((answer.status, answer.code().as_str()), (421, "http/host_refused"), "{target}");
    }
    assert_eq!(ask(&ours, &ours).status, 200);
    let upper = format!("LOCALHOST:{port}");
    assert_eq!(ask(&upper, &upper.to_lowercase()).status, 200);
}

#[test]
fn what_is_no_cursor_is_told_as_such() {
    let daemon = Daemon::start();
    for list in ["runs", "approvals", "events", "sessions", "principals", "tokens"] {
        let refused = daemon.local("GET", &format!("/admin/v1/{list}?after=nope%20at%20all"), "");
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (400, "common/invalid_input"),
            "{list}: {refused:?}"
        );
        let told = refused.json();
        assert_eq!(
            told["message"],
            "after: this is no cursor of a list; leave it out to begin at its start",
            "{list}"
        );
        assert!(told["recovery_hint"].as_str().unwrap().contains("the message names"), "{told}");
    }
}

#[test]
fn a_page_of_another_site_is_refused() {
    let daemon = Daemon::start();
    for line in [
        "Origin: https://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        let answer = daemon.tcp("GET", "/healthz", &[line], "");
        assert_eq!((answer.status, answer.code().as_str()), (403, "http/origin_refused"), "{line}");
    }
    let own = format!("Origin: http://{}", daemon.http);
    assert_eq!(daemon.tcp("GET", "/healthz", &[&own], "").status, 200);
    for second in ["Origin: https://evil.example", &own] {
        let two = daemon.tcp("GET", "/healthz", &[&own, second], "");
        assert_eq!((two.status, two.code().as_str()), (403, "http/origin_refused"), "{second}");
    }
    let link = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"];
    assert_eq!(daemon.tcp("GET", "/", &link, "").status, 200);
    // A form is no link.
    let form = daemon.tcp("POST", "/console/v1/login?code=abc", &link, "");
    assert_eq!((form.status, form.code().as_str()), (403, "http/origin_refused"));
}

#[test]
fn what_is_too_large_or_too_deep_is_refused() {
    let (daemon, _folder) = Daemon::with_config("[http]\nmax_body_bytes = 131072\n");
    let (_, secret) = daemon.token(&["tokens:write"]);
    let bearer = format!("Authorization: Bearer {secret}");
    let headers = [bearer.as_str(), "Content-Type: application/json"];
    let large = format!("{{\"name\": \"{}\"}}", "a".repeat(140_000));
    let answer = daemon.tcp("POST", "/admin/v1/tokens", &headers, &large);
    assert_eq!((answer.status, answer.code().as_str()), (413, "http/too_large"));
    assert!(answer.body.contains("http.max_body_bytes"));

    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    let answer = daemon.tcp("POST", "/admin/v1/tokens", &headers, &deep);
    assert_eq!((answer.status, answer.code().as_str()), (413, "http/too_large"));
    assert!(answer.body.contains("http.max_json_depth"));

    let header = format!("X-Large: {}", "a".repeat(100_000));
    let answer = daemon.tcp("GET", "/healthz", &[&header], "");
    assert_eq!((answer.status, answer.code().as_str()), (431, "http/too_large"));
    let many: Vec<String> = (0..100).map(|n| format!("X-{n}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(daemon.tcp("GET", "/healthz", &many, "").code(), "http/too_large");
    let path = format!("/{}", "a".repeat(100_000));
    assert_eq!(daemon.tcp("GET", &path, &[], "").code(), "http/too_large");
}

#[test]
fn what_cannot_be_understood_is_refused() {
    let daemon = Daemon::start();
    let (_, secret) = daemon.token(&["tokens:read", "tokens:write"]);
    let bearer = format!("Authorization: Bearer {secret}");
    let json = "Content-Type: application/json";
    for body in [
        "",
        "{",
        "[]",
        "{\"name\": 1}",
        "{\"name\": 471100815}",
        "{\"name\": \"a\", \"scopes\": [\"geheim\"]}",
    ] {
        let answer = daemon.tcp("POST", "/admin/v1/tokens", &[&bearer, json], body);
        assert_eq!((answer.status, answer.code().as_str()), (400, "http/malformed"), "{body}");
        let repeated = answer.body.contains("geheim") || answer.body.contains("471100815");
        assert!(!repeated, "what was sent is not repeated: {answer:?}");
    }
    let text = daemon.tcp("POST", "/admin/v1/tokens", &[&bearer, "Content-Type: text/plain"], "{}");
    assert_eq!((text.status, text.code().as_str()), (415, "http/media_type"));
    let nowhere = daemon.tcp("GET", "/nowhere", &[&bearer], "");
    assert_eq!((nowhere.status, nowhere.code().as_str()), (404, "common/not_found"));
    let method = daemon.tcp("PUT", "/admin/v1/tokens", &[&bearer, json], "{}");
    assert_eq!((method.status, method.code().as_str()), (405, "http/method_not_allowed"));
    assert!(method.header("allow").is_some_and(|allow| allow.contains("POST")), "{method:?}");
    let query = daemon.tcp("GET", "/admin/v1/tokens?limit=0", &[&bearer], "");
    assert_eq!(query.code(), "http/malformed");
    for bytes in
        [&b"nonsense\r\n\r\n"[..], b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"\0\0\0\0\r\n\r\n"]
    {
        assert_eq!(parse(&daemon.raw(bytes)).code(), "http/malformed");
    }
}

/// It sends one byte and then nothing, at each of the two places where one can wait for it.
#[test]
fn a_slow_request_is_cut_off() {
    let (daemon, folder) = Daemon::with_config("");
    // Before patience is short: it ends for a token as well, and its commit may wait for the disk.
    let (_, secret) = daemon.token(&["tokens:write"]);
    drop(daemon);
    let config = folder.path().join("palyra.toml");
    std::fs::write(config, "[http]\nrequest_timeout = \"300ms\"\n").unwrap();
    let daemon = Daemon::of(palyrad().data_dir(folder.path()));
    let head = format!(
        "POST /admin/v1/tokens HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {secret}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        daemon.http
    );
    for started in ["GET / HTT", &head] {
        let mut stream = TcpStream::connect(daemon.http).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(started.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        let answer = parse(&answer);
        assert_eq!((answer.status, answer.code().as_str()), (408, "http/slow"), "{answer:?}");
    }
}

#[test]
fn too_many_requests_of_one_token_are_told_to_wait() {
    let (daemon, _folder) = Daemon::with_config("[http]\nrequests_per_second = 1\n");
    let (_, secret) = daemon.token(&["status:read"]);
    let bearer = format!("Authorization: Bearer {secret}");
    let answers = (0..20).map(|_| daemon.tcp("GET", "/admin/v1/whoami", &[&bearer], ""));
    let busy = answers.into_iter().find(|answer| answer.status == 429).unwrap();
    assert_eq!(busy.code(), "http/busy");
    assert!(busy.header("retry-after").is_some());
}

/// A request that has begun and does not go on, and the refusal of another because of it.
fn held(daemon: &Daemon, secret: &str, ask: impl Fn() -> Answer) -> (TcpStream, Answer) {
    let head = format!(
        "POST /admin/v1/tokens HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {secret}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        daemon.http
    );
    let deadline = std::time::Instant::now() + LIMIT;
    loop {
        let mut stream = TcpStream::connect(daemon.http).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.set_nonblocking(true).unwrap();
        // It may be refused itself, if it meets the other one that asks.
        while stream.peek(&mut [0]).is_err() {
            let answer = ask();
            if answer.status == 429 {
                stream.set_nonblocking(false).unwrap();
                return (stream, answer);
            }
            assert!(std::time::Instant::now() < deadline, "{answer:?}");
        }
    }
}

/// As many as may be under way, and the one who must get in all the same.
#[test]
fn requests_from_elsewhere_leave_room_for_the_local_owner() {
    let config = "[http]\nmax_requests = 1\nrequests_per_second = 0\n";
    let (daemon, _folder) = Daemon::with_config(config);
    let (_, slow) = daemon.token(&["tokens:write"]);
    let (_stream, busy) = held(&daemon, &slow, || daemon.tcp("GET", "/healthz", &[], ""));
    assert_eq!(busy.code(), "http/busy");
    assert!(busy.body.contains("http.max_requests"), "{busy:?}");
    assert_eq!(daemon.local("GET", "/admin/v1/whoami", "").status, 200);
}

/// One that has begun and does not go on takes the only place of its principal.
#[test]
fn requests_of_one_principal_leave_room_for_others() {
    let config = "[http]\nmax_requests_per_principal = 1\nrequests_per_second = 0\n";
    let (daemon, _folder) = Daemon::with_config(config);
    let new = r#"{"principal": "operator:anna", "role": "viewer"}"#;
    daemon.local("POST", "/admin/v1/principals", new);
    let new = r#"{"name": "a", "scopes": ["status:read"], "principal": "operator:anna"}"#;
    let annas = daemon.local("POST", "/admin/v1/tokens", new).json();
    let annas = format!("Authorization: Bearer {}", annas["secret"].as_str().unwrap());
    let [(_, slow), (_, other)] = [daemon.token(&["tokens:write"]), daemon.token(&["status:read"])];
    let other = format!("Authorization: Bearer {other}");
    let ask = |bearer: &str| daemon.tcp("GET", "/admin/v1/whoami", &[bearer], "");
    assert_eq!(ask(&other).status, 200);
    let (stream, busy) = held(&daemon, &slow, || ask(&other));
    assert_eq!(busy.code(), "http/busy");
    assert!(busy.body.contains("http.max_requests_per_principal"), "{busy:?}");
    assert!(busy.header("retry-after").is_some());
    assert_eq!(ask(&annas).status, 200, "others are not kept out");
    assert_eq!(daemon.local("GET", "/admin/v1/whoami", "").status, 200);
    drop(stream);
    let deadline = std::time::Instant::now() + LIMIT;
    while ask(&other).status != 200 {
        assert!(std::time::Instant::now() < deadline, "its place stays taken");
    }
}

#[test]
fn every_answer_has_the_headers_that_browsers_heed() {
    let daemon = Daemon::start();
    for (path, status) in
        [("/", 200), ("/healthz", 200), ("/nowhere", 404), ("/admin/v1/status", 401)]
    {
        let answer = daemon.tcp("GET", path, &[], "");
        assert_eq!(answer.status, status);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for header in ["x-content-type-options", "x-frame-options", "referrer-policy"] {
            assert!(answer.header(header).is_some(), "{path}: {header}");
        }
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[test]
fn a_port_in_use_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for option in ["PALYRA_HTTP_BIND", "PALYRA_GRPC_BIND"] {
        let folder = private_tempdir().unwrap();
        let mut daemon = std::process::Command::new(env!("CARGO_BIN_EXE_palyrad"));
        daemon.arg("--data-dir").arg(folder.path());
        daemon.envs([("PALYRA_HTTP_BIND", "127.0.0.1:0"), ("PALYRA_GRPC_BIND", "127.0.0.1:0")]);
        let told = daemon.env(option, &address).output().unwrap();
        assert_eq!(told.status.code(), Some(6));
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.contains("daemon/address_in_use") && told.contains(&address), "{told}");
    }
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let builder = palyrad().temporary_data_dir().unwrap();
    let (code, told) = refused(builder.args(["--http-bind", "0.0.0.0:0"]));
    assert_eq!(code, Some(2), "clap refuses an option given twice: {told}");
    let folder = private_tempdir().unwrap();
    let told = std::process::Command::new(env!("CARGO_BIN_EXE_palyrad"))
        .args(["--http-bind", "0.0.0.0:0", "--grpc-bind", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert_eq!(told.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&told.stderr).contains("daemon/address_refused"));
    let file = folder.path().join("other.toml");
    std::fs::write(&file, "[grpc]\nbind = \"192.168.0.1:1\"\n").unwrap();
    let checked = std::process::Command::new(env!("CARGO_BIN_EXE_palyrad"))
        .args(["config", "validate"])
        .arg(file)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&checked.stderr).contains("daemon/address_refused"));
}

/// Whoever may write there may put a socket, a database or a configuration in place of ours.
#[test]
fn a_data_directory_that_others_may_change_is_refused() {
    let with_mode = |mode| {
        let folder = private_tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        folder
    };
    for mode in [0o777, 0o1777, 0o770, 0o702, 0o720] {
        let folder = with_mode(mode);
        let (code, told) = refused(palyrad().data_dir(folder.path()));
        assert_eq!(code, Some(4), "{mode:o}: {told}");
        assert!(told.contains(&format!("chmod 700 '{}'", folder.path().display())), "{told}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is made in it");
    }
    let folder = with_mode(0o755);
    let daemon = Daemon::of(palyrad().data_dir(folder.path()));
    daemon.process.wait_for_line("others can look into the data directory", LIMIT).unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o720)).unwrap();
    let checks = daemon.local("GET", "/admin/v1/doctor", "").json();
    let mut checks = checks["checks"].as_array().unwrap().iter();
    let found = checks.find(|check| check["name"] == "data_directory_private").unwrap();
    assert_eq!((&found["state"], &found["fixable"]), (&"failed".into(), &true.into()), "{found}");
}

#[test]
fn a_data_directory_whose_name_is_no_text_is_refused() {
    let folder = private_tempdir().unwrap();
    let strange = folder.path().join(OsStr::from_bytes(b"caf\xe9"));
    let (code, told) = refused(palyrad().data_dir(&strange));
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("is not UTF-8") && told.contains("--data-dir"), "{told}");
    assert!(!strange.exists());
}

#[test]
fn a_data_directory_whose_socket_could_not_be_opened_is_refused_before_it_is_made() {
    let folder = private_tempdir().unwrap();
    let long = folder.path().join("a".repeat(120));
    let (code, told) = refused(palyrad().data_dir(&long));
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("at most") && !long.exists(), "{told}");
}
