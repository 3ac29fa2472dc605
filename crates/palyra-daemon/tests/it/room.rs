//! As many connections as may be open, none of which asks anything.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use crate::daemon::{Daemon, LIMIT, parse};

/// Nobody's patience but that for places ends within a test.
const CONFIG: &str = "[http]\nmax_connections = 4\nmax_local_connections = 4\n\
                      request_timeout = \"1h\"\n";

const TOLD: &str = "as many connections are open as may be";

#[test]
fn connections_that_ask_nothing_make_room() {
    let (daemon, _folder) = Daemon::with_config(CONFIG);
    let (tell, told) = std::sync::mpsc::channel();
    for half in ["G", "GET / HTT", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nA: b\r\n"] {
        let mut stream = TcpStream::connect(daemon.http).unwrap();
        stream.write_all(half.as_bytes()).unwrap();
        let tell = tell.clone();
        // As many make room as are needed; the others end with the daemon.
        std::thread::spawn(move || {
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            let _ = tell.send(answer);
        });
    }
    assert_eq!(daemon.tcp("GET", "/healthz", &[], "").status, 200);
    let line = daemon.process.wait_for_line(TOLD, LIMIT).unwrap();
    assert!(line.contains("http.max_connections") && line.contains("HTTP"), "{line}");
    let told = told.recv_timeout(LIMIT).unwrap();
    assert_eq!(parse(&told).code(), "http/slow", "whoever has begun is told");
}

/// The same, where not a byte was said.
#[test]
fn connections_that_say_nothing_make_room() {
    let (daemon, _folder) = Daemon::with_config(CONFIG);
    let _silent: Vec<_> = (0..4).map(|_| TcpStream::connect(daemon.http).unwrap()).collect();
    assert_eq!(daemon.tcp("GET", "/healthz", &[], "").status, 200);
}

#[test]
fn the_owner_gets_in_however_many_hold_the_socket() {
    let (daemon, _folder) = Daemon::with_config(CONFIG);
    let socket = &daemon.running.socket;
    let _silent: Vec<_> = (0..4).map(|_| UnixStream::connect(socket).unwrap()).collect();
    assert_eq!(daemon.local("GET", "/admin/v1/whoami", "").status, 200);
    let line = daemon.process.wait_for_line(TOLD, LIMIT).unwrap();
    assert!(line.contains("http.max_local_connections"), "{line}");
}

/// One whose request is under way, and three that were answered and are kept open.
///
/// Whoever looks whether it is under way has the place of its principal for a moment, so that it may
/// be refused for that: then it is asked again.
#[test]
fn what_was_asked_is_answered_and_one_that_is_idle_makes_room() {
    // Whoever asks again and again is not to be refused for that.
    let config = format!("{CONFIG}max_requests_per_principal = 1\nrequests_per_second = 0\n");
    let (daemon, _folder) = Daemon::with_config(&config);
    let (_, secret) = daemon.token(&["tokens:write", "status:read"]);
    let deadline = std::time::Instant::now() + LIMIT;
    let status = loop {
        match asked_slowly_beside_idle_ones(&daemon, &secret, deadline) {
            429 => {}
            other => break other,
        }
    };
    assert_eq!(status, 201);
}

fn asked_slowly_beside_idle_ones(
    daemon: &Daemon,
    secret: &str,
    deadline: std::time::Instant,
) -> u16 {
    let body = r#"{"name": "a", "scopes": ["status:read"]}"#;
    let head = format!(
        "POST /admin/v1/tokens HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {secret}\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        daemon.http,
        body.len()
    );
    let mut slow = TcpStream::connect(daemon.http).unwrap();
    slow.set_read_timeout(Some(LIMIT)).unwrap();
    slow.write_all(head.as_bytes()).unwrap();
    // It counts as the one request that its principal may have.
    let bearer = format!("Authorization: Bearer {secret}");
    slow.set_nonblocking(true).unwrap();
    while daemon.tcp("GET", "/admin/v1/whoami", &[&bearer], "").status != 429 {
        assert!(std::time::Instant::now() < deadline, "it never has the place");
        if slow.peek(&mut [0]).is_ok() {
            return 429;
        }
    }
    slow.set_nonblocking(false).unwrap();
    let ask = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", daemon.http);
    let idle = [(); 3].map(|()| {
        let mut stream = TcpStream::connect(daemon.http).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(ask.as_bytes()).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    });
    assert_eq!(daemon.tcp("GET", "/healthz", &[], "").status, 200);
    drop(idle);
    // One that was refused may be gone.
    let _ = slow.write_all(body.as_bytes());
    let mut answer = String::new();
    slow.read_to_string(&mut answer).map_or(429, |_| parse(&answer).status)
}
