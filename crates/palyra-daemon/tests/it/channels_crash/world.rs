//! A daemon, or several, with the echo connector, and what was handed in.

use std::path::Path;
use std::time::{Duration, Instant};

use palyra_storage::OpenOptions;
use palyra_testkit::crash::CrashPlan;
use palyra_testkit::fs::private_tempdir;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};
use palyra_testkit::process::{Builder, Process};
use serde_json::{Value, json};

use super::sent::{Answer, Counts, Sent};
use super::undecided;
use crate::daemon::{Daemon, LIMIT, palyrad};

pub(crate) const ECHO: &str = "/admin/v1/channels/echo:default";
const LEDGER: &str = "connectors/ledger";
/// Where agents keep files.
pub(crate) const WORKSPACES: &str = "workspaces";
/// Of which each may have one answer under way.
pub(crate) const CONVERSATIONS: u64 = 7;
/// Of the nodes that share a database.
pub(crate) const LEASE_TTL: Duration = Duration::from_secs(2);

/// What the other side does, and what can be learnt of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Platform {
    pub(crate) memory: Memory,
    pub(crate) answers: Answers,
}

/// What the platform knows of what has reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// It takes the same message twice for one.
    Deduplicates,
    /// It takes every message, and says which it has.
    TellsHistory,
    /// It takes every message and tells nothing.
    TakesAll,
}

/// What is heard of what the platform has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    Arrive,
    /// One in three is lost, the first one of each life to begin with.
    GetLost,
}

impl Platform {
    pub(crate) const fn new(memory: Memory, answers: Answers) -> Self {
        Self { memory, answers }
    }

    fn settings(self) -> Value {
        let mut settings = match self.memory {
            Memory::Deduplicates => json!({ "remembers_for": "1h" }),
            Memory::TellsHistory => json!({ "deduplicate": false }),
            Memory::TakesAll => json!({ "deduplicate": false, "tells_history": false }),
        };
        settings["ledger"] = json!("ledger");
        if self.answers == Answers::GetLost {
            settings["faults"] = json!({ "request": "drop_answer", "one_in": 3 });
        }
        settings
    }
}

/// Where the daemon keeps its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

pub(crate) struct World {
    /// One for each node that there may be at once; they share the folder of the ledger.
    data: Vec<tempfile::TempDir>,
    pub(crate) platform: Platform,
    /// How many were acknowledged: they have to be answered. Of the next one nothing may have been
    /// heard, and still it may be there.
    pub(crate) handed_in: u64,
    /// How long an attempt may take.
    attempt_timeout: Duration,
    database: Option<TestDatabase>,
}

impl World {
    pub(crate) fn new(engine: Engine, platform: Platform) -> Self {
        let world = match engine {
            Engine::Sqlite => Self::of(vec![private_tempdir().unwrap()], platform, None),
            Engine::Postgres => Self::shared_by(1, platform),
        };
        let daemon = world.start(None);
        world.configure(&daemon);
        world.stop(daemon);
        world
    }

    /// Nodes on one Postgres, whose leases end soon.
    pub(crate) fn shared_by(nodes: usize, platform: Platform) -> Self {
        let server = PostgresServer::shared().unwrap();
        let database = server.create_database(DatabaseLocale::C).unwrap();
        let data: Vec<_> = (0..nodes).map(|_| private_tempdir().unwrap()).collect();
        let (blobs, ledger) = (data[0].path().join("shared"), data[0].path().join("connectors"));
        let files = data[0].path().join(WORKSPACES);
        std::fs::create_dir_all(&ledger).unwrap();
        for folder in &data {
            let (url, blobs, ttl) = (database.url(), blobs.display(), LEASE_TTL.as_secs());
            let text = format!(
                "[storage]\nurl = \"{url}\"\nblobs = \"{blobs}\"\nlease_ttl = \"{ttl}s\"\n\n\
                 [agents]\nworkspaces = \"{files}\"\n",
                files = files.display()
            );
            std::fs::write(folder.path().join("palyra.toml"), text).unwrap();
            let own = folder.path().join("connectors");
            if !own.exists() {
                std::os::unix::fs::symlink(&ledger, own).unwrap();
            }
        }
        // What another node was sending is taken over when the time for it is over.
        let soon = Self::of(data, platform, Some(database));
        Self { attempt_timeout: Duration::from_secs(1), ..soon }
    }

    fn of(
        data: Vec<tempfile::TempDir>,
        platform: Platform,
        database: Option<TestDatabase>,
    ) -> Self {
        Self { data, platform, handed_in: 0, attempt_timeout: Duration::from_secs(20), database }
    }

    pub(crate) fn configure(&self, daemon: &Daemon) {
        let queue = json!({ "look_after": "5ms", "max_looks": 1, "max_attempts": 100,
            "backoff": { "base": "1ms", "cap": "10ms" }, "max_waiting": 10_000,
            "attempt_timeout": format!("{}s", self.attempt_timeout.as_secs()) });
        let change = json!({ "settings": self.platform.settings(), "queue": queue });
        assert_eq!(daemon.ask("PUT", ECHO, &change).status, 200);
    }

    pub(crate) fn start(&self, crash: Option<&CrashPlan>) -> Daemon {
        self.start_node(0, crash)
    }

    pub(crate) fn start_node(&self, node: usize, crash: Option<&CrashPlan>) -> Daemon {
        Daemon::of(self.builder(node, crash))
    }

    /// One that may die before it is ready.
    pub(crate) fn begin_to_start(&self, crash: &CrashPlan) -> Process {
        self.builder(0, Some(crash)).spawn().unwrap()
    }

    fn builder(&self, node: usize, crash: Option<&CrashPlan>) -> Builder {
        let builder = palyrad().data_dir(self.data[node].path());
        match crash {
            Some(plan) => builder.crash(plan),
            None => builder,
        }
    }

    pub(crate) fn stop(&self, mut daemon: Daemon) {
        daemon.process.terminate(LIMIT).unwrap();
    }

    /// Hands the next message in, and says whether it was heard that it is kept. If it was not, it is
    /// still the next one.
    pub(crate) fn hand_in(&mut self, daemon: &Daemon) -> bool {
        self.hand_in_to(daemon, &self.conversation())
    }

    /// Where the next message is said.
    fn conversation(&self) -> String {
        format!("c{}", self.handed_in % CONVERSATIONS)
    }

    /// While there is no daemon, the next message comes in and nobody can decide about it.
    pub(crate) fn hand_in_undecided(&mut self) {
        undecided::keep(self.rows(), &self.conversation(), &name(self.handed_in));
        self.handed_in += 1;
    }

    pub(crate) fn hand_in_to(&mut self, daemon: &Daemon, conversation: &str) -> bool {
        self.say(daemon, conversation, &name(self.handed_in))
    }

    /// Says something in the message that is handed in next.
    pub(crate) fn say(&mut self, daemon: &Daemon, conversation: &str, text: &str) -> bool {
        let name = name(self.handed_in);
        let test = json!({ "text": text, "conversation": conversation, "message": name });
        let heard = daemon.try_local("POST", &format!("{ECHO}/test"), &test.to_string());
        self.handed_in += u64::from(heard == Some(202));
        heard == Some(202)
    }

    /// Waits until the answer to what was handed in last has arrived.
    pub(crate) fn await_last_answer(&self) {
        let (last, deadline) = (self.handed_in - 1, Instant::now() + LIMIT);
        while !self.arrived().iter().any(|answer| answer.to == last) {
            assert!(Instant::now() < deadline, "the answer to {} never arrives", name(last));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Hands in until it is not heard any more, or for long enough.
    pub(crate) fn hand_in_until_it_dies(&mut self, daemon: &Daemon) {
        for _ in 0..200 {
            if !self.hand_in(daemon) {
                return;
            }
        }
    }

    /// Waits until nothing moves.
    pub(crate) fn await_quiet(&self, daemon: &Daemon) {
        let deadline = Instant::now() + LIMIT;
        // What is not answered yet is not in the queue of messages.
        let open = |runs: &Value| runs["queued"] != 0 || runs["running"] != 0;
        while open(&daemon.get("/admin/v1/status")["runs"]) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let under_way = || {
            let channel = daemon.get(ECHO);
            let count = |count: &Value| count.as_u64().unwrap();
            (count(&channel["waiting"]) + count(&channel["queue"]["sending"]), channel)
        };
        // However much it is, as long as it gets less.
        let (mut fewest, mut deadline) = (u64::MAX, Instant::now() + LIMIT);
        loop {
            let (left, channel) = under_way();
            if left < fewest {
                (fewest, deadline) = (left, Instant::now() + LIMIT);
            }
            if left == 0 {
                return;
            }
            assert!(Instant::now() < deadline, "nothing gets less of {channel}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until nothing moves, and compares what was handed in with what has arrived.
    pub(crate) fn check(&self, daemon: &Daemon) -> Counts {
        self.await_quiet(daemon);
        // What nobody could decide about yet is in no queue: it is waited for by its answer.
        let deadline = Instant::now() + LIMIT;
        let is_lost = || !self.sent(daemon).unanswered(self.handed_in).is_empty();
        while is_lost() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.await_quiet(daemon);
        let sent = self.sent(daemon);
        assert_eq!(sent.faults(self.handed_in), [""; 0]);
        let counts = sent.counts();
        self.check_doubts(&counts);
        counts
    }

    fn check_doubts(&self, counts: &Counts) {
        match self.platform {
            Platform { memory: Memory::Deduplicates | Memory::TellsHistory, .. } => {
                assert_eq!(counts.unknown, 0, "what can be settled is not left in doubt");
            }
            Platform { memory: Memory::TakesAll, answers: Answers::Arrive } => {}
            // Nothing is tried twice here, and each life begins with a lost answer: at most two of
            // three are known to have arrived.
            Platform { memory: Memory::TakesAll, answers: Answers::GetLost } => {
                assert!(
                    counts.delivered <= 2 * counts.unknown,
                    "a lost answer is a doubt: {counts:?}"
                );
            }
        }
    }

    fn sent(&self, daemon: &Daemon) -> Sent {
        Sent { arrived: self.arrived(), in_doubt: self.in_doubt(daemon) }
    }

    fn in_doubt(&self, daemon: &Daemon) -> Vec<Answer> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let page = daemon.get(&format!("{ECHO}/unknown?limit=200{after}"));
            all.extend(page["items"].as_array().unwrap().iter().map(Answer::read));
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return all,
            }
        }
    }

    /// All answers that have arrived, in order.
    pub(crate) fn arrived(&self) -> Vec<Answer> {
        self.ledger().iter().map(Answer::read).collect()
    }

    /// All that has arrived, in order. A line that was cut off in the middle never did.
    pub(crate) fn ledger(&self) -> Vec<Value> {
        let ledger = std::fs::read_to_string(self.data_dir(0).join(LEDGER)).unwrap_or_default();
        ledger.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub(crate) fn data_dir(&self, node: usize) -> &Path {
        self.data[node].path()
    }

    /// How to look at the rows without a daemon.
    pub(crate) fn rows(&self) -> OpenOptions {
        let mut options = OpenOptions::in_directory(self.data_dir(0));
        if let Some(database) = &self.database {
            options.config.url = database.url().to_string().into();
        }
        options
    }
}

pub(crate) fn name(number: u64) -> String {
    format!("m{number}")
}
