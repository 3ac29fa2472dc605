//! A home of its own for each test, and how `palyra` and `palyrad` are run in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use palyra_testkit::fs::ScratchDir;
use palyra_testkit::process::Process;
use serde_json::Value;

pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// Any free ports, so that tests do not meet.
pub(crate) const FREE_PORTS: [&str; 4] =
    ["--http-bind", "127.0.0.1:0", "--grpc-bind", "127.0.0.1:0"];

/// A scratch home with a data directory.
pub(crate) struct World {
    folder: ScratchDir,
}

/// Stops a background daemon also when its test fails.
pub(crate) struct Background<'a>(pub(crate) &'a World);

impl Drop for Background<'_> {
    fn drop(&mut self) {
        self.0.palyra(&["daemon", "stop"]);
    }
}

/// What a run of `palyra` came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The code of the error that was told as JSON.
    #[track_caller]
    pub(crate) fn error_code(&self) -> String {
        let told: Value =
            serde_json::from_str(&self.err).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        assert_eq!(self.out, "", "an error leaves standard output empty");
        told["error"]["code"].as_str().unwrap().to_owned()
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self { folder: ScratchDir::new().unwrap() }
    }

    pub(crate) fn home(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.home().join("data")
    }

    /// The only folder in the path: empty, so that no systemd of this machine is met.
    pub(crate) fn programs(&self) -> PathBuf {
        self.home().join("bin")
    }

    /// `palyra` with `arguments`, in a world in which nothing else is set.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palyra"));
        command.env_clear().env("HOME", self.home()).env("PATH", self.programs());
        command.env("PALYRA_DATA_DIR", self.data_dir()).current_dir(self.home());
        command.args(arguments).stdin(Stdio::null());
        command
    }

    pub(crate) fn palyra(&self, arguments: &[&str]) -> Ran {
        ran(&mut self.command(arguments))
    }

    /// With `input` on standard input.
    pub(crate) fn palyra_reading(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may refuse before it reads.
        let _ = child.stdin.take().unwrap().write_all(input);
        taken(child.wait_with_output().unwrap())
    }

    /// A daemon that ends with the test.
    pub(crate) fn palyrad(&self) -> Process {
        let daemon = Process::builder(palyrad())
            .args(FREE_PORTS)
            .data_dir(self.data_dir())
            .env("HOME", self.home())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .ready_line("palyrad is ready")
            .spawn()
            .unwrap();
        daemon.wait_ready(LIMIT).unwrap();
        daemon
    }

    /// A database of which the first page of `table` holds nothing that SQLite knows.
    pub(crate) fn damage(&self, table: &str) {
        let daemon = self.palyrad();
        // A stop leaves everything in one file.
        self.palyra(&["daemon", "stop"]).expect(0);
        drop(daemon);
        let path = self.data_dir().join("palyra.db");
        let mut bytes = std::fs::read(&path).unwrap();
        // As the schema has it: kind, name, table, the number of the page, and how it was made.
        let row = format!("table{table}{table}");
        let at = (0..bytes.len()).find(|&at| bytes[at..].starts_with(row.as_bytes())).unwrap();
        let number = &bytes[at + row.len()..];
        let length = (1..=4).find(|length| number[*length..].starts_with(b"CREATE TABLE")).unwrap();
        let page = number[..length].iter().fold(0, |page, byte| page << 8 | usize::from(*byte));
        let page = (page - 1) * 4_096..page * 4_096;
        bytes[page].fill(0xAA);
        std::fs::write(&path, bytes).unwrap();
    }

    /// The address of the HTTP API of the running daemon.
    pub(crate) fn host(&self) -> String {
        let text = std::fs::read_to_string(self.data_dir().join("runtime.json")).unwrap();
        let running: Value = serde_json::from_str(&text).unwrap();
        format!("http://{}", running["http"].as_str().unwrap())
    }
}

/// The daemon's program, which a build of the workspace puts beside `palyra`.
pub(crate) fn palyrad() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_palyra")).with_file_name("palyrad");
    assert!(path.is_file(), "{} is missing: run `cargo build -p palyra-daemon`", path.display());
    path
}

/// Waits, bounded, until `look` sees it.
#[track_caller]
pub(crate) fn until(what: &str, mut look: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !look() {
        assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn ran(command: &mut Command) -> Ran {
    taken(command.output().unwrap())
}

fn taken(output: std::process::Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
