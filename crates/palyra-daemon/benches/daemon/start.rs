//! From exec to the line that says that the daemon is ready.

use std::path::Path;
use std::time::Instant;

use palyra_testkit::figures::{Goal, Measured, in_turns, millis, report};
use palyra_testkit::process::{Process, Termination};

use crate::daemon::{LIMIT, palyrad};

const STARTS: usize = 20;

pub(crate) fn run(folder: &Path) {
    let start = || {
        let begun = Instant::now();
        let mut process = palyrad(folder).spawn().unwrap();
        process.wait_ready(LIMIT).unwrap();
        let took = millis(begun.elapsed());
        let ended = process.terminate(LIMIT).unwrap();
        assert!(matches!(ended, Termination::Orderly(status) if status.success()), "{ended:?}");
        took
    };
    let version = || {
        let begun = Instant::now();
        let program = Process::builder(env!("CARGO_BIN_EXE_palyrad"));
        let process = program.arg("--version").spawn().unwrap();
        process.wait_for_line("palyrad ", LIMIT).unwrap();
        millis(begun.elapsed())
    };
    // The first turn, which is not counted, makes the data directory.
    let measured = in_turns(STARTS, start, version);
    let measured = Measured { ratio: None, ..measured };
    report("daemon.start_ms", "ms", measured, Some(Goal::AtMost(120.0)));
}
