//! What a stop means for requests under way, and a full house for those outside.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use palyra_testkit::process::Termination;

use crate::daemon::{Daemon, LIMIT, parse};

const NEW_TOKEN: &str = r#"{"name": "late", "scopes": ["status:read"]}"#;

/// A request of the local owner whose handler waits for the body.
fn begun(daemon: &Daemon) -> UnixStream {
    let stream = UnixStream::connect(&daemon.running.socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let head = format!(
        "POST /admin/v1/tokens HTTP/1.1\r\nHost: palyra\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        NEW_TOKEN.len()
    );
    (&stream).write_all(head.as_bytes()).unwrap();
    let mut told = [0; 25];
    (&stream).read_exact(&mut told).unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

fn ask_to_stop(daemon: &Daemon) {
    let told = Command::new("kill").args(["-TERM", &daemon.process.id().to_string()]).status();
    assert!(told.unwrap().success());
    daemon.process.wait_for_line("stopping", LIMIT).unwrap();
}

fn poll(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_request_under_way_is_answered_and_nobody_new_is_let_in() {
    let slow = "[http]\ndrain_timeout = \"1h\"\nrequest_timeout = \"1h\"\n";
    let (mut daemon, _folder) = Daemon::with_config(slow);
    let mut stream = begun(&daemon);
    // One that asks for nothing is no reason to wait.
    let _idle = TcpStream::connect(daemon.http).unwrap();
    ask_to_stop(&daemon);
    poll("both doors close", || {
        TcpStream::connect(daemon.http).is_err()
            && UnixStream::connect(&daemon.running.socket).is_err()
    });
    assert!(daemon.process.try_wait().unwrap().is_none(), "{}", daemon.process.logs());
    stream.write_all(NEW_TOKEN.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let answer = parse(&answer);
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(daemon.process.wait(LIMIT).unwrap().code(), Some(0));
    assert!(!daemon.process.logs().contains("cut off"), "{}", daemon.process.logs());
}

#[test]
fn a_request_that_never_ends_is_cut_off() {
    let config = "[http]\ndrain_timeout = \"500ms\"\nrequest_timeout = \"1h\"\n";
    let (mut daemon, _folder) = Daemon::with_config(config);
    let _never = begun(&daemon);
    let ended = daemon.process.terminate(LIMIT).unwrap();
    assert!(matches!(ended, Termination::Orderly(status) if status.success()), "{ended:?}");
    let logs = daemon.process.logs();
    assert!(logs.contains("requests under way were cut off"), "{logs}");
}

/// An answered request, whose connection stays open.
fn held(daemon: &Daemon) -> TcpStream {
    let mut stream = TcpStream::connect(daemon.http).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", daemon.http).unwrap();
    let mut first = String::new();
    BufReader::new(&stream).read_line(&mut first).unwrap();
    assert_eq!(first, "HTTP/1.1 200 OK\r\n");
    stream
}

/// Memory in use, in KiB.
#[cfg(target_os = "linux")]
fn resident(daemon: &Daemon) -> u64 {
    memory(daemon, "VmRSS:")
}

/// A line of what the system says of the memory of the daemon, in KiB.
#[cfg(target_os = "linux")]
fn memory(daemon: &Daemon, name: &str) -> u64 {
    let path = format!("/proc/{}/status", daemon.process.id());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Its length is nowhere said, so only counting can stop it.
#[cfg(target_os = "linux")]
#[test]
fn a_body_without_end_is_not_kept() {
    const CHUNK: usize = 64 << 10;
    const CHUNKS: usize = 1_024;
    let daemon = Daemon::start();
    assert_eq!(daemon.local("GET", "/admin/v1/status", "").status, 200);
    let before = resident(&daemon);
    let mut stream = UnixStream::connect(&daemon.running.socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    let head = "POST /admin/v1/redact HTTP/1.1\r\nHost: palyra\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("{CHUNK:x}\r\n{}\r\n", "x".repeat(CHUNK));
    let sent = (0..CHUNKS).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    let mut answer = Vec::new();
    // What was told may be lost with the connection.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let most = memory(&daemon, "VmHWM:");
    let sent_kib = (sent * CHUNK) >> 10;
    assert!(most < before + 16_384, "{before} KiB, {most} KiB after {sent_kib} KiB were sent");
    assert_eq!(daemon.local("GET", "/admin/v1/status", "").status, 200);
}

#[cfg(target_os = "linux")]
#[test]
fn those_who_wait_outside_cost_nothing_and_the_owner_still_gets_in() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    const ROOM: usize = 32;
    const CROWD: usize = 2_000;
    const QUEUED: usize = 100;
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).unwrap();
    let config = format!("[http]\nmax_connections = {ROOM}\nrequest_timeout = \"1h\"\n");
    let (daemon, _folder) = Daemon::with_config(&config);
    let inside: Vec<_> = (0..ROOM).map(|_| held(&daemon)).collect();
    let before = resident(&daemon);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let http = daemon.http;
    let outside = runtime.block_on(async {
        let mut connecting = tokio::task::JoinSet::new();
        for _ in 0..CROWD {
            connecting.spawn(tokio::net::TcpStream::connect(http));
        }
        let mut waiting = Vec::new();
        // The system keeps as many waiting as its queue holds; the rest keeps knocking.
        while waiting.len() < QUEUED {
            let next = tokio::time::timeout(LIMIT, connecting.join_next()).await.unwrap();
            waiting.push(next.unwrap().unwrap().unwrap());
        }
        let question = format!("GET /healthz HTTP/1.1\r\nHost: {http}\r\n\r\n");
        for stream in &waiting {
            stream.try_write(question.as_bytes()).unwrap();
        }
        (waiting, connecting)
    });
    for _ in 0..20 {
        assert_eq!(daemon.local("GET", "/admin/v1/status", "").status, 200);
    }
    let after = resident(&daemon);
    assert!(after < 2 * before, "{before} KiB, and {after} KiB with {CROWD} outside");
    drop((inside, outside));
    runtime.shutdown_background();
    assert_eq!(daemon.tcp("GET", "/healthz", &[], "").status, 200);
}

/// As many as may be open, none of which reads what it asked for.
#[test]
fn who_does_not_read_the_answers_loses_the_connection() {
    const ROOM: usize = 2;
    let config = format!("[http]\nmax_connections = {ROOM}\nrequest_timeout = \"500ms\"\n");
    let (daemon, _folder) = Daemon::with_config(&config);
    let question = format!("GET /style.css HTTP/1.1\r\nHost: {}\r\n\r\n", daemon.http);
    let deaf: Vec<_> = (0..ROOM)
        .map(|_| {
            let mut stream = TcpStream::connect(daemon.http).unwrap();
            stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
            // Until nothing more goes in either direction, or it is cut off already.
            let flood = question.repeat(1_000);
            while stream.write_all(flood.as_bytes()).is_ok() {}
            stream
        })
        .collect();
    assert_eq!(daemon.tcp("GET", "/healthz", &[], "").status, 200);
    drop(deaf);
}
