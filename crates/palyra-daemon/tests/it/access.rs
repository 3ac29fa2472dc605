//! Who gets in, by which door.

use std::time::{Duration, Instant};

use palyra_testkit::postgres::{DatabaseLocale, PostgresServer};

use crate::daemon::{Answer, Daemon, LIMIT, palyrad};

pub(crate) fn cookie(login: &Answer) -> String {
    let set = login.header("set-cookie").unwrap();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    format!("Cookie: {}", set.split(';').next().unwrap())
}

pub(crate) fn csrf(daemon: &Daemon, cookie: &str) -> String {
    let session = daemon.tcp("GET", "/console/v1/session", &[cookie], "");
    assert_eq!(session.status, 200, "{session:?}");
    format!("X-Palyra-Csrf: {}", session.json()["csrf"].as_str().unwrap())
}

#[test]
fn the_printed_link_works_once_and_makes_the_owner() {
    let daemon = Daemon::start();
    let path = daemon.login_path();
    let page = daemon.tcp("GET", &path, &[], "");
    assert_eq!((page.status, page.header("set-cookie")), (200, None), "a look does not use it up");
    let first = daemon.tcp("POST", &path, &[], "");
    assert_eq!((first.status, first.header("location")), (303, Some("/")), "{first:?}");
    let cookie = cookie(&first);
    let front = daemon.tcp("GET", "/", &[&cookie], "");
    assert!(front.body.contains("operator:owner") && front.body.contains("ready"), "{front:?}");

    for method in ["GET", "POST"] {
        let second = daemon.tcp(method, &path, &[], "");
        assert_eq!((second.status, second.header("set-cookie")), (410, None));
        assert!(second.body.contains("auth/link_used"), "{second:?}");
        // Whoever reads this may be at the daemon's machine, or was sent the link.
        assert!(second.body.contains("palyra dashboard"), "{second:?}");
        assert!(second.body.contains("whoever sent it"), "{second:?}");
    }
    let (_, code) = path.split_once('=').unwrap();
    assert_eq!(daemon.process.logs().matches(code).count(), 1, "only the printed line has it");
    let foreign = daemon.tcp("GET", "/console/v1/login?code=abc", &[], "");
    assert_eq!(foreign.status, 404);
    assert!(foreign.body.contains("auth/link_unknown"), "{foreign:?}");
}

#[test]
fn a_restart_ends_no_login_and_prints_no_second_link() {
    let mut daemon = Daemon::start();
    let cookie = cookie(&daemon.tcp("POST", &daemon.login_path(), &[], ""));
    daemon.process.kill_dash_nine().unwrap();
    daemon.process.restart().unwrap();
    let ready = daemon.process.wait_ready(LIMIT).unwrap();
    daemon.http = crate::daemon::running(daemon.data_dir()).http.parse().unwrap();
    assert!(ready.contains(&daemon.http.to_string()), "{ready}");
    assert_eq!(daemon.tcp("GET", "/admin/v1/status", &[&cookie], "").status, 200);
    let printed = daemon.process.logs().matches("/console/v1/login?code=").count();
    assert_eq!(printed, 1, "only the first start, before there was an owner");
}

#[test]
fn a_handoff_link_logs_a_browser_in_once() {
    let daemon = Daemon::start();
    let made = daemon.local("POST", "/admin/v1/login-codes", "");
    assert_eq!(made.status, 201, "{made:?}");
    let link = made.json()["link"].as_str().unwrap().to_owned();
    let (_, path) = link.split_once(&daemon.http.to_string()).unwrap();
    assert_eq!(daemon.tcp("POST", path, &[], "").status, 303);
    assert_eq!(daemon.tcp("POST", path, &[], "").status, 410);
}

#[test]
fn a_change_from_a_browser_needs_the_csrf_token_of_its_login() {
    let daemon = Daemon::start();
    let cookie = cookie(&daemon.tcp("POST", &daemon.login_path(), &[], ""));
    let csrf = csrf(&daemon, &cookie);
    let json = "Content-Type: application/json";
    let new = r#"{"name": "ci", "scopes": ["status:read"]}"#;
    let without = daemon.tcp("POST", "/admin/v1/tokens", &[&cookie, json], new);
    assert_eq!((without.status, without.code().as_str()), (403, "auth/csrf"));
    let wrong = daemon.tcp("POST", "/admin/v1/tokens", &[&cookie, json, "X-Palyra-Csrf: a"], new);
    assert_eq!(wrong.code(), "auth/csrf");
    let with = daemon.tcp("POST", "/admin/v1/tokens", &[&cookie, json, &csrf], new);
    assert_eq!(with.status, 201, "{with:?}");

    assert_eq!(daemon.tcp("POST", "/console/v1/logout", &[&cookie, &csrf], "").status, 204);
    let gone = daemon.tcp("GET", "/admin/v1/status", &[&cookie], "");
    assert_eq!((gone.status, gone.code().as_str()), (401, "auth/revoked"));
}

#[test]
fn over_tcp_nothing_but_health_is_open_before_a_login() {
    let daemon = Daemon::start();
    let api: serde_json::Value =
        serde_json::from_str(include_str!("../../../../schemas/openapi/palyra.json")).unwrap();
    let open = ["/healthz", "/readyz", "/", "/style.css", "/console/v1/login"];
    for (path, item) in api["paths"].as_object().unwrap() {
        let real = path.replace("{id}", "01JCZ8W9M0N4V5X6Y7Z8A9B0C1");
        let real = real.replace("{scope}", "global").replace("{name}", "x");
        for method in item.as_object().unwrap().keys() {
            let answer = daemon.tcp(&method.to_uppercase(), &real, &[], "");
            if open.contains(&path.as_str()) {
                assert_ne!(answer.status, 401, "{method} {path}");
            } else {
                assert_eq!(answer.status, 401, "{method} {path}: {answer:?}");
                let code = match path.starts_with("/v1/") {
                    true => answer.json()["error"]["code"].as_str().unwrap().to_owned(),
                    false => answer.code(),
                };
                assert_eq!(code, "auth/required");
            }
        }
    }
    let stranger = daemon.tcp("GET", "/", &[], "");
    assert!(!stranger.body.contains("sqlite") && stranger.body.contains("palyra dashboard"));
}

#[test]
fn a_token_does_what_it_may_until_it_is_revoked() {
    let daemon = Daemon::start();
    let (id, secret) = daemon.token(&["status:read"]);
    let bearer = format!("Authorization: Bearer {secret}");
    let status = daemon.tcp("GET", "/admin/v1/status", &[&bearer], "");
    assert_eq!(status.status, 200, "{status:?}");
    let who = daemon.tcp("GET", "/admin/v1/whoami", &[&bearer], "").json();
    assert_eq!((&who["credential"], &who["scopes"]), (&"token".into(), &["status:read"].into()));
    let more = daemon.tcp("GET", "/admin/v1/secrets", &[&bearer], "");
    assert_eq!((more.status, more.code().as_str()), (403, "auth/forbidden"));
    assert!(more.body.contains("secrets:read"));

    assert_eq!(daemon.local("DELETE", &format!("/admin/v1/tokens/{id}"), "").status, 200);
    // On the node that revoked it at once; others are told, and notice by themselves.
    let answer = daemon.tcp("GET", "/admin/v1/status", &[&bearer], "");
    assert_eq!((answer.status, answer.code().as_str()), (401, "auth/revoked"));
    for wrong in ["Bearer ply_x", "Bearer", "Basic abc", "Bearer "] {
        let answer =
            daemon.tcp("GET", "/admin/v1/status", &[&format!("Authorization: {wrong}")], "");
        assert_eq!((answer.status, answer.code().as_str()), (401, "auth/invalid"), "{wrong}");
    }
}

#[test]
fn an_expired_token_is_told_so() {
    let daemon = Daemon::start();
    let new = r#"{"name": "short", "scopes": ["status:read"], "expires_in_seconds": 1}"#;
    let made = daemon.local("POST", "/admin/v1/tokens", new).json();
    let bearer = format!("Authorization: Bearer {}", made["secret"].as_str().unwrap());
    let deadline = Instant::now() + LIMIT;
    loop {
        let answer = daemon.tcp("GET", "/admin/v1/status", &[&bearer], "");
        if answer.status == 401 {
            assert_eq!(answer.code(), "auth/expired");
            break;
        }
        assert!(Instant::now() < deadline, "{answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn metrics_need_a_login_unless_configuration_opens_them() {
    let daemon = Daemon::start();
    assert_eq!(daemon.tcp("GET", "/metrics", &[], "").status, 401);
    let (_, secret) = daemon.token(&["metrics:read"]);
    let bearer = format!("Authorization: Bearer {secret}");
    let figures = daemon.tcp("GET", "/metrics", &[&bearer], "");
    assert!(figures.body.contains("palyra_http_requests_total{class=\"4xx\"}"), "{figures:?}");
    let (open, _folder) = Daemon::with_config("[http]\nopen_metrics = true\n");
    assert_eq!(open.tcp("GET", "/metrics", &[], "").status, 200);
}

fn figure(daemon: &Daemon, name: &str) -> f64 {
    let figures = daemon.local("GET", "/metrics", "");
    let line = figures.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is not among {figures:?}")).parse().unwrap()
}

fn a_write_is_counted(daemon: &Daemon) {
    let names = ["palyra_storage_writes_total", "palyra_storage_commit_seconds_count"];
    let before = names.map(|name| figure(daemon, name));
    assert!(figure(daemon, "palyra_storage_commit_seconds_sum") > 0.0);
    assert!(figure(daemon, "palyra_storage_waiting_writes") >= 0.0);
    for at in 1..=3 {
        daemon.token(&["status:read"]);
        let after = names.map(|name| figure(daemon, name));
        assert!(after[0] >= before[0] + f64::from(at), "{before:?} {after:?}");
        assert!(after[1] >= before[1] + f64::from(at), "{before:?} {after:?}");
    }
}

#[test]
fn a_write_to_sqlite_is_counted() {
    a_write_is_counted(&Daemon::start());
}

#[test]
fn a_write_to_postgres_is_counted() {
    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let daemon = palyrad().temporary_data_dir().unwrap();
    let daemon = daemon.args(["--storage-url", &database.url()]);
    a_write_is_counted(&Daemon::of(daemon));
}

/// As root the daemon's socket can be opened by nobody else; the daemon itself is another user.
#[test]
fn the_socket_is_for_the_user_of_the_daemon_alone() {
    use std::os::unix::fs::PermissionsExt;
    let daemon = Daemon::of(palyrad().temporary_data_dir().unwrap().unprivileged().unwrap());
    let mode = std::fs::metadata(&daemon.running.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    if !rustix::process::geteuid().is_root() {
        eprintln!("not tried: only root can open the socket of another user");
        return;
    }
    // The test is root, the daemon nobody: the permissions let root in, the check of the peer does
    // not.
    let mut stream = std::os::unix::net::UnixStream::connect(&daemon.running.socket).unwrap();
    use std::io::{Read, Write};
    let _ = stream.write_all(b"GET /admin/v1/whoami HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert_eq!(answer, "");
    daemon.process.wait_for_line("another user was turned away", LIMIT).unwrap();
}

#[test]
fn the_doctor_is_content_with_a_new_installation() {
    let daemon = Daemon::start();
    daemon.tcp("POST", &daemon.login_path(), &[], "");
    let checks = daemon.local("GET", "/admin/v1/doctor", "").json()["checks"].clone();
    let checks = checks.as_array().unwrap();
    let found = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
    for name in ["blob_round_trip", "leases", "vault", "owner", "clock"] {
        assert_eq!(found(name)["state"], "ok", "{}", found(name));
    }
    // A slow disk and a full one are warned of, and those are the machine's.
    for name in ["database", "disk_space"] {
        assert!(["ok", "warning"].contains(&found(name)["state"].as_str().unwrap()), "{checks:?}");
    }
}

#[test]
fn what_decides_which_programs_run_is_the_local_owners_alone() {
    let daemon = Daemon::start();
    let (_, secret) = daemon.token(&["secrets:write", "config:write", "tokens:write"]);
    let bearer = format!("Authorization: Bearer {secret}");
    let headers = [bearer.as_str(), "Content-Type: application/json"];
    for body in [r#"{"command": ["/bin/true"]}"#, r#"{"passphrase": "of another"}"#] {
        let refused = daemon.tcp("POST", "/admin/v1/secrets/rotate-master", &headers, body);
        assert_eq!((refused.status, refused.code().as_str()), (403, "auth/local_only"), "{body}");
    }
    for body in [
        r#"{"set": {"vault.key_command": ["/bin/true"]}}"#,
        r#"{"unset": ["storage.url"]}"#,
        r#"{"set": {"http.public_url": "https://evil.example"}}"#,
        r#"{"set": {"http.hosts": ["evil.example"]}}"#,
        r#"{"set": {"grpc.open_reflection": true}}"#,
        // Where a key of a provider goes, any secret can be made to go.
        r#"{"set": {"models.providers.x.base_url": "https://evil.example"}}"#,
        r#"{"set": {"models.providers.openai.api_key": "global/any"}}"#,
        r#"{"unset": ["models.providers.openai"]}"#,
        r#"{"set": {"net.allow": ["127.0.0.1/32"]}}"#,
        r#"{"set": {"agents.workspaces": "/etc"}}"#,
    ] {
        let refused = daemon.tcp("PATCH", "/admin/v1/config", &headers, body);
        assert_eq!((refused.status, refused.code().as_str()), (403, "auth/local_only"), "{body}");
    }
    let other = daemon.token(&["status:read"]).0;
    let revoked = daemon.tcp("DELETE", &format!("/admin/v1/tokens/{other}"), &headers, "");
    assert_eq!(revoked.status, 200, "whoever may revoke is told so: {revoked:?}");
}

/// Behind a proxy with TLS, as a browser on the other side of it sees it.
#[test]
fn through_a_proxy_links_lead_to_it_and_the_cookie_is_for_tls_alone() {
    let config = "[http]\npublic_url = \"https://palyra.example.org\"\n";
    let (daemon, _folder) = Daemon::with_config(config);
    let made = daemon.local("POST", "/admin/v1/login-codes", "").json();
    let link = made["link"].as_str().unwrap();
    let path = link.strip_prefix("https://palyra.example.org").unwrap();
    let host = "Host: palyra.example.org";
    let origin = "Origin: https://palyra.example.org";
    let answer = daemon.tcp("POST", path, &[host, origin], "");
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-palyra=") && cookie.contains("; Secure;"), "{cookie}");
    assert!(cookie.contains("; Path=/;") && !cookie.contains("Domain"), "{cookie}");
    let (pair, _) = cookie.split_once(';').unwrap();
    let sent = format!("Cookie: {pair}");
    assert_eq!(daemon.tcp("GET", "/console/v1/session", &[host, &sent], "").status, 200);
    // Neither an older one nor one that a neighbour has set counts, also if it comes first.
    let first = format!("Cookie: palyra_login=of-a-neighbour; {pair}");
    assert_eq!(daemon.tcp("GET", "/console/v1/session", &[host, &first], "").status, 200);
    let alone = format!("Cookie: {}", pair.replace("__Host-palyra", "palyra_login"));
    assert_eq!(daemon.tcp("GET", "/console/v1/session", &[host, &alone], "").status, 401);
    // On the machine itself there is no TLS.
    let made = daemon.local("POST", "/admin/v1/login-codes", "").json();
    let path = made["link"].as_str().unwrap().replace("https://palyra.example.org", "");
    let answer = daemon.tcp("POST", &path, &[], "");
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("palyra_login=") && !cookie.contains("Secure"), "{cookie}");
}
