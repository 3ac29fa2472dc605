//! What is told, and kept from being lost, while the database does not answer.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use palyra_testkit::fs::private_dir;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, StopMode, TestDatabase};
use palyra_testkit::process::Process;
use serde_json::Value;

use crate::world::{World, until};

/// A daemon on a server that can be stopped. `more` follows in its configuration.
struct House {
    world: World,
    server: PostgresServer,
    _database: TestDatabase,
    daemon: Process,
}

impl House {
    fn start(more: &str) -> Self {
        let (world, server) = (World::new(), PostgresServer::start().unwrap());
        let database = server.create_database(DatabaseLocale::C).unwrap();
        private_dir(world.data_dir()).unwrap();
        let config = format!("[storage]\nurl = \"{}\"\n{more}", database.url());
        std::fs::write(world.data_dir().join("palyra.toml"), config).unwrap();
        let daemon = world.palyrad();
        Self { world, server, _database: database, daemon }
    }

    fn lose_the_database(&mut self) {
        self.server.stop(StopMode::Immediate).unwrap();
        until("the daemon has noticed", || !self.status()["ready"].as_bool().unwrap());
    }

    fn status(&self) -> Value {
        self.world.palyra(&["status", "--json"]).json()
    }

    /// Stores a secret, and gives the file of its key.
    fn with_a_secret(&self) -> PathBuf {
        self.world.palyra_reading(&["secrets", "set", "openai"], b"geheim-8161").expect(0);
        let place = self.status()["vault"]["key_source"].as_str().unwrap().to_owned();
        place.strip_prefix("the key file ").unwrap().into()
    }

    fn get(&self, path: &str) -> String {
        let mut stream = UnixStream::connect(self.world.data_dir().join("palyra.sock")).unwrap();
        let ask = format!("GET {path} HTTP/1.1\r\nHost: palyra\r\nConnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

const QUICK: &str = "retry_for = \"1s\"\n";

/// Nothing but the key file needs to be looked at for it.
#[test]
fn the_last_copy_of_the_key_is_not_lost() {
    let mut house = House::start(QUICK);
    let file = house.with_a_secret();
    let key = house.status()["vault"]["key_id"].clone();
    house.lose_the_database();
    assert_eq!(house.status()["vault"]["key_id"], key, "it is there: {}", house.status());
    let away = house.world.home().join("away");
    std::fs::rename(&file, &away).unwrap();
    for command in ["stop", "restart"] {
        let refused = house.world.palyra(&["daemon", command]).expect(1);
        assert!(refused.err.contains("nothing was stopped"), "{refused:?}");
        assert!(refused.err.contains("code: vault/key_only_in_memory"), "{refused:?}");
        assert_eq!(house.status()["pid"], house.daemon.id(), "it still runs");
    }
    std::fs::rename(&away, &file).unwrap();
    house.world.palyra(&["daemon", "stop"]).expect(0);
    house.server.start_again().unwrap();
    let _again = house.world.palyrad();
    house.world.palyra(&["status"]).expect(0);
}

#[test]
fn a_key_that_cannot_be_looked_at_is_not_stopped_for() {
    let house = House::start(QUICK);
    let file = house.with_a_secret();
    let away = house.world.home().join("away");
    std::fs::rename(&file, &away).unwrap();
    // Opening it takes until somebody writes there, as with a disk that does not answer.
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    // A look that is a moment old may still be told.
    until("the status tells it", || house.world.palyra(&["status"]).code == 7);
    let refused = house.world.palyra(&["daemon", "stop"]).expect(1);
    assert!(refused.err.contains("did not answer within 2 s"), "{refused:?}");
    assert!(refused.err.contains("--yes"), "{refused:?}");
    let told = house.world.palyra(&["status"]).expect(7).out;
    assert!(told.contains("did not answer within 2 s"), "{told}");
    house.world.palyra(&["daemon", "stop", "--yes"]).expect(0);
}

#[test]
fn what_is_not_known_is_not_made_up() {
    let mut house = House::start(QUICK);
    house.lose_the_database();
    let told = house.world.palyra(&["status"]).expect(7).out;
    for false_now in ["schema 0", "there is none yet", "no secret yet", "0 under way"] {
        assert!(!told.contains(false_now), "{told}");
    }
    assert!(told.contains("not known while the database is away"), "{told}");
    // Nothing is lost with a daemon that has no key.
    house.world.palyra(&["daemon", "stop"]).expect(0);
}

/// With the limits that a user has who has chosen none.
#[test]
fn the_database_is_named_to_whoever_asks() {
    let mut house = House::start("");
    house.with_a_secret();
    house.lose_the_database();
    let answer = house.get("/admin/v1/secrets");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("storage/unavailable"), "{answer}");
    let refused = house.world.palyra(&["secrets", "list", "--json"]).expect(1);
    assert_eq!(refused.error_code(), "storage/unavailable");
    let figures = house.get("/metrics");
    assert!(figures.starts_with("HTTP/1.1 200"), "{figures}");
    let report = house.world.palyra(&["doctor", "--json"]).expect(7).json();
    let checks = report["checks"].as_array().unwrap();
    let state = |name: &str| {
        let found = checks.iter().find(|check| check["name"] == name);
        found.unwrap_or_else(|| panic!("{report:#}"))["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state("database"), "failed", "{report:#}");
    assert_eq!(state("vault"), "ok", "{report:#}");
    assert_eq!(state("owner"), "skipped", "{report:#}");
}
