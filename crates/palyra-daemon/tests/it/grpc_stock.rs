//! The gRPC API, asked by a client of somebody else that knows it only from what it says of itself.

use std::path::{Path, PathBuf};

use palyra_testkit::process::{Process, Stream};

use crate::daemon::{Daemon, LIMIT};
use crate::gateway::ALL;

/// What `scripts/bootstrap test` installs.
const PACKAGES: &str = include_str!("../../../../scripts/grpc-clients.txt");

fn python() -> PathBuf {
    let program = match std::env::var_os("PALYRA_TEST_GRPC_CLIENTS") {
        Some(program) => PathBuf::from(program),
        None => {
            let version = PACKAGES.lines().find_map(|line| line.strip_prefix("grpcio=="));
            cache().join(format!("palyra/grpc-clients-{}/bin/python", version.unwrap()))
        }
    };
    assert!(
        program.exists(),
        "{} is missing: run scripts/bootstrap test, or set PALYRA_TEST_GRPC_CLIENTS to a Python \
         that has the packages of scripts/grpc-clients.txt",
        program.display()
    );
    program
}

fn cache() -> PathBuf {
    let named = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty());
    named
        .map_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from)
}

#[test]
fn a_stock_client_finds_and_calls_everything_by_reflection() {
    let daemon = Daemon::start();
    let (_, secret) = daemon.token(&ALL);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/grpc_stock.py");
    let mut run = Process::builder(python())
        .arg(script)
        .args([daemon.running.grpc.as_str(), &secret])
        // Nothing on the way to this machine itself.
        .env("NO_PROXY", "127.0.0.1")
        .spawn()
        .unwrap();
    let ended = run.wait(LIMIT).unwrap();
    assert!(ended.success(), "{}", run.logs());
    assert_eq!(run.lines(Stream::Stdout).unwrap(), ["content"]);
}
