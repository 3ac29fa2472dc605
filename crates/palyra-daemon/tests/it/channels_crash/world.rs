//! A daemon, or several, with the echo connector, and what was handed in.

use std::collections::BTreeMap;
use std::path::Path;

use palyra_testkit::crash::CrashPlan;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};
use serde_json::{Value, json};

use crate::daemon::{Daemon, LIMIT, palyrad};

const ECHO: &str = "/admin/v1/channels/echo:default";
const LEDGER: &str = "connectors/ledger";

/// Whether the platform takes the same message twice for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Platform {
    Deduplicates,
    TakesAll,
}

impl Platform {
    fn settings(self) -> Value {
        match self {
            Self::Deduplicates => json!({ "ledger": "ledger", "remembers_for": "1h" }),
            Self::TakesAll => {
                json!({ "ledger": "ledger", "deduplicate": false, "tells_history": false })
            }
        }
    }
}

/// Where the daemon keeps its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

pub(super) struct World {
    /// One for each node that there may be at once; they share the folder of the ledger.
    data: Vec<tempfile::TempDir>,
    platform: Platform,
    /// What was acknowledged: it has to be answered.
    pub(super) handed_in: Vec<String>,
    _database: Option<TestDatabase>,
}

impl World {
    pub(super) fn new(engine: Engine, platform: Platform) -> Self {
        let world = match engine {
            Engine::Sqlite => Self::of(vec![tempfile::tempdir().unwrap()], platform, None),
            Engine::Postgres => Self::shared_by(1, platform),
        };
        let daemon = world.start(None);
        // On Postgres what another node was sending is taken over when the time for it is over.
        let timeout = if engine == Engine::Sqlite { "20s" } else { "1s" };
        world.configure(&daemon, timeout);
        world.stop(daemon);
        world
    }

    /// Nodes on one Postgres, whose leases end soon.
    pub(super) fn shared_by(nodes: usize, platform: Platform) -> Self {
        let server = PostgresServer::shared().unwrap();
        let database = server.create_database(DatabaseLocale::C).unwrap();
        let data: Vec<_> = (0..nodes).map(|_| tempfile::tempdir().unwrap()).collect();
        let (blobs, ledger) = (data[0].path().join("shared"), data[0].path().join("connectors"));
        std::fs::create_dir_all(&ledger).unwrap();
        for folder in &data {
            let (url, blobs) = (database.url(), blobs.display());
            let text =
                format!("[storage]\nurl = \"{url}\"\nblobs = \"{blobs}\"\nlease_ttl = \"2s\"\n");
            std::fs::write(folder.path().join("palyra.toml"), text).unwrap();
            let own = folder.path().join("connectors");
            if !own.exists() {
                std::os::unix::fs::symlink(&ledger, own).unwrap();
            }
        }
        Self::of(data, platform, Some(database))
    }

    fn of(
        data: Vec<tempfile::TempDir>,
        platform: Platform,
        database: Option<TestDatabase>,
    ) -> Self {
        Self { data, platform, handed_in: Vec::new(), _database: database }
    }

    pub(super) fn configure(&self, daemon: &Daemon, attempt_timeout: &str) {
        let queue =
            json!({ "look_after": "5ms", "max_looks": 1, "attempt_timeout": attempt_timeout });
        let change = json!({ "settings": self.platform.settings(), "queue": queue });
        assert_eq!(daemon.ask("PUT", ECHO, &change).status, 200);
    }

    pub(super) fn start(&self, crash: Option<&CrashPlan>) -> Daemon {
        self.start_node(0, crash)
    }

    pub(super) fn start_node(&self, node: usize, crash: Option<&CrashPlan>) -> Daemon {
        let builder = palyrad().data_dir(self.data[node].path());
        Daemon::of(match crash {
            Some(plan) => builder.crash(plan),
            None => builder,
        })
    }

    pub(super) fn stop(&self, mut daemon: Daemon) {
        daemon.process.terminate(LIMIT).unwrap();
    }

    /// Hands a message in, and says whether it was heard that it is kept.
    pub(super) fn hand_in(&mut self, daemon: &Daemon, n: u64) -> bool {
        let (name, conversation) = (format!("m{n}"), format!("c{}", n % 7));
        let test = json!({ "text": name, "conversation": conversation, "message": name });
        let status = daemon.try_local("POST", &format!("{ECHO}/test"), &test.to_string());
        if status == Some(202) {
            self.handed_in.push(name);
        }
        status == Some(202)
    }

    /// Waits until nothing moves, and compares what was handed in with what has arrived.
    pub(super) fn check(&self, daemon: &Daemon) -> Counts {
        daemon.until(ECHO, |channel| channel["waiting"] == 0 && channel["queue"]["sending"] == 0);
        let unknown = self.unknown(daemon);
        let arrived = arrived(&self.data[0].path().join(LEDGER));
        let mut counts = Counts::default();
        for name in &self.handed_in {
            let text = format!("You said: {name}");
            let times = arrived.get(&text).copied().unwrap_or(0);
            let doubtful = unknown.contains(&text);
            match (times, doubtful) {
                (0, false) => panic!("{name} was acknowledged and never answered"),
                (1, false) => counts.delivered += 1,
                (0 | 1, true) => counts.unknown += 1,
                (times, _) => panic!("{name} was answered {times} times"),
            }
        }
        if self.platform == Platform::Deduplicates {
            assert_eq!(counts.unknown, 0, "where the platform deduplicates nothing is in doubt");
        }
        counts
    }

    fn unknown(&self, daemon: &Daemon) -> Vec<String> {
        let mut all = Vec::new();
        let mut after = String::new();
        loop {
            let page = daemon.get(&format!("{ECHO}/unknown?limit=200{after}"));
            for entry in page["items"].as_array().unwrap() {
                all.push(entry["operation"]["text"].as_str().unwrap().to_owned());
            }
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return all,
            }
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) delivered: u64,
    pub(super) unknown: u64,
}

/// How often each text is in the ledger.
fn arrived(ledger: &Path) -> BTreeMap<String, u64> {
    let mut arrived = BTreeMap::new();
    for line in std::fs::read_to_string(ledger).unwrap_or_default().lines() {
        if let Ok(line) = serde_json::from_str::<Value>(line) {
            let text = line["operation"]["text"].as_str().unwrap().to_owned();
            *arrived.entry(text).or_default() += 1;
        }
    }
    arrived
}
