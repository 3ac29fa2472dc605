//! The release build of `palyrad`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use palyra_common::data_dir::Running;
use palyra_testkit::process::{Builder, Process};
use serde_json::{Value, json};

pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// On free ports, with its key in the folder, and otherwise as it is without any configuration.
pub(crate) fn palyrad(folder: &Path) -> Builder {
    Process::builder(env!("CARGO_BIN_EXE_palyrad"))
        .ready_line("palyrad is ready")
        .args(["--http-bind", "127.0.0.1:0", "--grpc-bind", "127.0.0.1:0"])
        .env("XDG_CONFIG_HOME", folder.join("config"))
        // They are of the bench, and the daemon would wonder about them.
        .env_remove("PALYRA_BENCH_OUT")
        .env_remove("PALYRA_BENCH_IDLE_SECONDS")
        .data_dir(folder.join("data"))
}

pub(crate) struct Daemon {
    pub(crate) process: Process,
    pub(crate) http: SocketAddr,
    pub(crate) running: Running,
}

impl Daemon {
    pub(crate) fn start(folder: &Path) -> Self {
        let process = palyrad(folder).spawn().unwrap();
        process.wait_ready(LIMIT).unwrap();
        let file = process.data_dir().unwrap().join("runtime.json");
        let running: Running =
            serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        Self { http: running.http.parse().unwrap(), process, running }
    }

    /// The same with a configuration.
    pub(crate) fn with_config(folder: &Path, config: &str) -> Self {
        let data_dir = folder.join("data");
        palyra_testkit::fs::private_dir(&data_dir).unwrap();
        std::fs::write(data_dir.join("palyra.toml"), config).unwrap();
        Self::start(folder)
    }

    /// A token that may look at everything.
    pub(crate) fn token(&self) -> String {
        let scopes = ["status:read", "metrics:read", "secrets:read", "audit:read", "sessions:read"];
        let made =
            self.local("POST /admin/v1/tokens", &json!({ "name": "bench", "scopes": scopes }));
        made["secret"].as_str().unwrap().to_owned()
    }

    /// Has an agent answer a message.
    pub(crate) fn talk(&self) {
        let session = self.local("POST /admin/v1/sessions", &json!({ "title": "bench" }));
        let said = format!("POST /admin/v1/sessions/{}/messages", session["id"].as_str().unwrap());
        let said = self.local(&said, &json!({ "text": "hello" }));
        let run = format!("GET /admin/v1/runs/{}", said["run"].as_str().unwrap());
        let deadline = Instant::now() + LIMIT;
        while self.local(&run, &Value::Null)["phase"] != "completed" {
            assert!(Instant::now() < deadline, "{}", self.process.logs());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// As the local owner.
    pub(crate) fn local(&self, what: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let stream = UnixStream::connect(&self.running.socket).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let headers = format!("Content-Type: application/json\r\nContent-Length: {}", body.len());
        serde_json::from_str(&ask(stream, what, "palyra", &headers, &body)).unwrap()
    }

    /// What the daemon says of itself.
    pub(crate) fn status(&self, token: &str) -> String {
        self.get("/admin/v1/status", token)
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> String {
        let stream = TcpStream::connect_timeout(&self.http, LIMIT).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let bearer = format!("Authorization: Bearer {token}");
        ask(stream, &format!("GET {path}"), &self.http.to_string(), &bearer, "")
    }
}

fn ask(mut stream: impl Read + Write, what: &str, host: &str, headers: &str, body: &str) -> String {
    let head = format!("{what} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}");
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 20"), "{what}: {answer}");
    body.to_owned()
}
