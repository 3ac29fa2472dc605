//! What the kernel says about a process.

use std::fs::read_to_string;
use std::time::Duration;

use palyra_testkit::process::Process;

/// Memory that is in RAM, in MB.
pub(crate) fn resident_mb(process: &Process) -> f64 {
    let status = read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: f64 = line.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    kib * 1_024.0 / 1_000_000.0
}

/// CPU time of all threads, by and for the process, up to now.
pub(crate) fn cpu_time(process: &Process) -> Duration {
    let stat = read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    // The name of the program may hold blanks and brackets; what follows its end does not.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}
