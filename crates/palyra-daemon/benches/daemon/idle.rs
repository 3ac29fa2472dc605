//! What the daemon takes while nobody asks it for anything.

use std::time::{Duration, Instant};

use palyra_testkit::figures::{Goal, Measured, report};
use palyra_testkit::process::Process;

use crate::bare::Bare;
use crate::daemon::Daemon;
use crate::proc::{cpu_time, resident_mb};

/// Seconds to watch, for trial runs.
const VARIABLE: &str = "PALYRA_BENCH_IDLE_SECONDS";
const SECONDS: u64 = 60;

/// Some of each kind: handlers, the database, secrets, figures.
const PATHS: [&str; 5] =
    ["/admin/v1/status", "/admin/v1/secrets", "/admin/v1/whoami", "/readyz", "/metrics"];

pub(crate) fn run(daemon: &Daemon, token: &str, bare: &Bare) {
    for _ in 0..5 {
        for path in PATHS {
            daemon.get(path, token);
        }
    }
    let seconds = std::env::var(VARIABLE).map_or(SECONDS, |text| text.parse().unwrap());
    let both = [&daemon.process, &bare.process];
    let before = both.map(cpu_time);
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(seconds));
    let percent = |process: &Process, before: Duration| {
        100.0 * (cpu_time(process) - before).as_secs_f64() / begun.elapsed().as_secs_f64()
    };
    let measured =
        Measured::beside(percent(&daemon.process, before[0]), percent(&bare.process, before[1]));
    report("daemon.idle_cpu", "% of a core", measured, Some(Goal::AtMost(0.2)));
    let measured = Measured::beside(resident_mb(&daemon.process), resident_mb(&bare.process));
    report("daemon.idle_rss_mb", "MB", measured, Some(Goal::AtMost(30.0)));
    // The table by which tokens are counted is loaded with the first message, and stays.
    daemon.talk();
    let measured = Measured::beside(resident_mb(&daemon.process), resident_mb(&bare.process));
    report("daemon.idle_rss_used_mb", "MB", measured, None);
}
