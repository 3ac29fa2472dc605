//! Messages come in once and go out once, wherever the daemon dies. What has arrived is counted
//! outside of it, in the ledger of the echo connector.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use palyra_testkit::crash::CrashPlan;
use palyra_testkit::seed::{Seed, rounds};
use serde_json::{Value, json};

use crate::daemon::{Daemon, LIMIT, palyrad};

const ECHO: &str = "/admin/v1/channels/echo:default";
const LEDGER: &str = "connectors/ledger";

/// Every boundary between deciding, writing down and acting.
const BOUNDARIES: [&str; 9] = [
    "inbound.before_commit",
    "inbound.after_commit",
    "outbox.after_attempt_commit",
    "outbox.before_send",
    "echo.before_accept",
    "echo.after_accept",
    "outbox.after_send",
    "outbox.before_settle_commit",
    "outbox.after_settle_commit",
];

/// Whether the platform takes the same message twice for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Platform {
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

struct World {
    data: tempfile::TempDir,
    platform: Platform,
    /// What was acknowledged: it has to be answered.
    handed_in: Vec<String>,
}

impl World {
    fn new(platform: Platform) -> Self {
        let data = tempfile::tempdir().unwrap();
        let world = Self { data, platform, handed_in: Vec::new() };
        let daemon = world.start(None);
        let queue = json!({ "look_after": "5ms", "max_looks": 1, "attempt_timeout": "20s" });
        let change = json!({ "settings": platform.settings(), "queue": queue });
        assert_eq!(daemon.ask("PUT", ECHO, &change).status, 200);
        world.stop(daemon);
        world
    }

    fn start(&self, crash: Option<&CrashPlan>) -> Daemon {
        let builder = palyrad().data_dir(self.data.path());
        Daemon::of(match crash {
            Some(plan) => builder.crash(plan),
            None => builder,
        })
    }

    fn stop(&self, mut daemon: Daemon) {
        daemon.process.terminate(LIMIT).unwrap();
    }

    /// Hands a message in, and says whether it was heard that it is kept.
    fn hand_in(&mut self, daemon: &Daemon, n: u64) -> bool {
        let (name, conversation) = (format!("m{n}"), format!("c{}", n % 7));
        let test = json!({ "text": name, "conversation": conversation, "message": name });
        let status = daemon.try_local("POST", &format!("{ECHO}/test"), &test.to_string());
        if status == Some(202) {
            self.handed_in.push(name);
        }
        status == Some(202)
    }

    /// Waits until nothing moves, and compares what was handed in with what has arrived.
    fn check(&self, daemon: &Daemon) -> Counts {
        daemon.until(ECHO, |channel| channel["waiting"] == 0 && channel["queue"]["sending"] == 0);
        let unknown = self.unknown(daemon);
        let arrived = arrived(&self.data.path().join(LEDGER));
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
struct Counts {
    delivered: u64,
    unknown: u64,
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

/// Dies at `boundary`, is started again, and is asked again by whoever heard no answer.
fn dies_at(boundary: &str, platform: Platform) {
    let mut world = World::new(platform);
    let plan = CrashPlan::at(boundary).nth(2);
    let mut daemon = world.start(Some(&plan));
    let unheard = (0..200).find(|n| !world.hand_in(&daemon, *n));
    plan.expect_crash(&mut daemon.process, LIMIT).unwrap();
    let daemon = world.start(None);
    if let Some(n) = unheard {
        assert!(world.hand_in(&daemon, n), "{n}");
    }
    let counts = world.check(&daemon);
    println!("{boundary}, {platform:?}: {counts:?}");
    assert!(counts.delivered > 0);
    world.stop(daemon);
}

#[test]
fn a_crash_at_any_boundary_loses_nothing_and_sends_nothing_twice() {
    for boundary in BOUNDARIES {
        dies_at(boundary, Platform::Deduplicates);
    }
}

#[test]
fn a_crash_at_any_boundary_leaves_no_silent_copy() {
    for boundary in BOUNDARIES {
        dies_at(boundary, Platform::TakesAll);
    }
}

/// Killed at random moments under load.
fn killed_at_random(platform: Platform) {
    let mut random = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let mut world = World::new(platform);
    let kills = rounds(30, 500);
    let mut next = 0;
    for _ in 0..kills {
        let mut daemon = world.start(None);
        let until =
            Instant::now() + random.duration(Duration::from_millis(10)..Duration::from_millis(200));
        // One that was not heard of is handed in again by the next life.
        while Instant::now() < until {
            if world.hand_in(&daemon, next) {
                next += 1;
            }
        }
        daemon.process.kill_dash_nine().unwrap();
    }
    let daemon = world.start(None);
    let counts = world.check(&daemon);
    println!("{kills} kills, {platform:?}: {} handed in, {counts:?}", world.handed_in.len());
    world.stop(daemon);
}

#[test]
fn crashes_at_random_lose_nothing_and_send_nothing_twice() {
    killed_at_random(Platform::Deduplicates);
}

#[test]
fn crashes_at_random_leave_no_silent_copy() {
    killed_at_random(Platform::TakesAll);
}
