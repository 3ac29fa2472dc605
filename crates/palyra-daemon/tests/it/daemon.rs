//! A daemon to talk to, and the plainest client there is.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use palyra_common::data_dir::Running;
use palyra_testkit::fs::private_tempdir;
use palyra_testkit::process::{Builder, Process, Stream};
use serde_json::Value;

pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// On free ports, with its key in a place of its own.
pub(crate) fn palyrad() -> Builder {
    Process::builder(env!("CARGO_BIN_EXE_palyrad"))
        .ready_line("palyrad is ready")
        .args(["--http-bind", "127.0.0.1:0", "--grpc-bind", "127.0.0.1:0"])
        .env("XDG_CONFIG_HOME", config_home())
}

/// One for each test, whose keys are changed under a lock on their folder.
pub(crate) fn config_home() -> std::path::PathBuf {
    std::env::temp_dir().join("palyra-test-config").join(std::process::id().to_string())
}

/// Waits for the end and returns what was printed as an error, with the exit code.
pub(crate) fn refused(builder: Builder) -> (Option<i32>, String) {
    let mut process = builder.spawn().unwrap();
    let status = process.wait(LIMIT).unwrap();
    (status.code(), process.lines(Stream::Stderr).unwrap().join("\n"))
}

/// A running daemon.
pub(crate) struct Daemon {
    pub(crate) process: Process,
    pub(crate) http: SocketAddr,
    pub(crate) running: Running,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of an error, which has everything that an error must have.
    pub(crate) fn code(&self) -> String {
        let envelope = self.json();
        for field in ["message", "recovery_hint"] {
            assert!(envelope[field].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        }
        envelope["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Daemon {
    pub(crate) fn start() -> Self {
        Self::of(palyrad().temporary_data_dir().unwrap())
    }

    pub(crate) fn with_config(text: &str) -> (Self, tempfile::TempDir) {
        let folder = private_tempdir().unwrap();
        std::fs::write(folder.path().join("palyra.toml"), text).unwrap();
        (Self::of(palyrad().data_dir(folder.path())), folder)
    }

    pub(crate) fn of(builder: Builder) -> Self {
        let process = builder.spawn().unwrap();
        process.wait_ready(LIMIT).unwrap();
        let running = running(process.data_dir().unwrap());
        let http = running.http.parse().unwrap();
        Self { process, http, running }
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.process.data_dir().unwrap()
    }

    /// The path and query of the login link that was printed.
    pub(crate) fn login_path(&self) -> String {
        let line = self.process.wait_for_line("/console/v1/login?code=", LIMIT).unwrap();
        let (_, path) = line.split_once(&self.http.to_string()).unwrap();
        path.trim().to_owned()
    }

    /// A request over TCP; `headers` are whole lines.
    pub(crate) fn tcp(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let stream = TcpStream::connect(self.http).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let host = format!("Host: {}", self.http);
        let named = headers.iter().any(|line| line.to_lowercase().starts_with("host:"));
        let mut lines = if named { vec![] } else { vec![host.as_str()] };
        lines.extend(headers);
        ask(stream, &request(method, path, &lines, body))
    }

    /// A request as the local owner.
    pub(crate) fn local(&self, method: &str, path: &str, body: &str) -> Answer {
        self.local_with(method, path, &["Host: palyra", "Content-Type: application/json"], body)
    }

    /// The same; `headers` are whole lines.
    pub(crate) fn local_with(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &str,
    ) -> Answer {
        let stream = UnixStream::connect(&self.running.socket).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        ask(stream, &request(method, path, headers, body))
    }

    /// The status of an answer to the local owner, if there is an answer.
    pub(crate) fn try_local(&self, method: &str, path: &str, body: &str) -> Option<u16> {
        self.text_of(method, path, body)?.split(' ').nth(1)?.parse().ok()
    }

    /// What the local owner is shown, if that comes as a whole.
    pub(crate) fn try_get(&self, path: &str) -> Option<Value> {
        let text = self.text_of("GET", path, "")?;
        serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
    }

    fn text_of(&self, method: &str, path: &str, body: &str) -> Option<String> {
        let mut stream = UnixStream::connect(&self.running.socket).ok()?;
        stream.set_read_timeout(Some(LIMIT)).ok()?;
        let kind = "Content-Type: application/json";
        stream.write_all(&request(method, path, &["Host: palyra", kind], body)).ok()?;
        Some(read_all(&mut stream))
    }

    /// Bytes as they are, and what comes back until the other side closes.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.http).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        // It may be refused before all of it is read.
        let _ = stream.write_all(bytes);
        read_all(&mut stream)
    }

    /// A new token with these scopes.
    pub(crate) fn token(&self, scopes: &[&str]) -> (String, String) {
        let new = serde_json::json!({ "name": "test", "scopes": scopes }).to_string();
        let made = self.local("POST", "/admin/v1/tokens", &new);
        assert_eq!(made.status, 201, "{made:?}");
        let made = made.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&made["token"]["id"]), text(&made["secret"]))
    }
}

pub(crate) fn running(data_dir: &Path) -> Running {
    let text = std::fs::read_to_string(data_dir.join("runtime.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn request(method: &str, path: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let lines = headers.join("\r\n");
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\n{lines}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn ask(mut stream: impl Read + Write, request: &[u8]) -> Answer {
    let _ = stream.write_all(request);
    parse(&read_all(&mut stream))
}

fn read_all(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    // A reset after the answer does not take back the answer.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(body) } else { body.to_owned() };
    Answer { status, head: head.to_owned(), body }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        whole.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    whole
}
