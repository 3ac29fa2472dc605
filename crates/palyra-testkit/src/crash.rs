//! Arming of the crash points that are compiled into a program under test.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::Signal;

use crate::process::{Builder, Process, Stream};

/// The variable that names the point to crash at, as `name:nth`.
pub const CRASH_VARIABLE: &str = "PALYRA_CRASH_POINT";

/// A crash at one of the `crash_point!`s of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashPlan {
    point: String,
    nth: u64,
}

impl CrashPlan {
    /// A crash when the point is passed for the first time.
    pub fn at(point: impl Into<String>) -> Self {
        Self { point: point.into(), nth: 1 }
    }

    /// A crash when the point is passed for the `nth` time, counted from 1.
    pub fn nth(self, nth: u64) -> Self {
        Self { nth, ..self }
    }

    /// What the variable holds.
    pub fn value(&self) -> String {
        format!("{}:{}", self.point, self.nth)
    }

    /// Waits for the end of `process` and checks that this crash was its cause, and not something
    /// else that ended it earlier.
    pub fn expect_crash(&self, process: &mut Process, limit: Duration) -> anyhow::Result<()> {
        let waiting = || format!("waiting for the crash at {}", self.value());
        let status = process.wait(limit).with_context(waiting)?;
        let message = format!("crash point {} reached", self.point);
        let announced = process.lines(Stream::Stderr)?.contains(&message);
        if announced && status.signal() == Some(Signal::ABORT.as_raw()) {
            return Ok(());
        }
        bail!(
            "expected a crash at {}, but the process ended with {status}; it printed:\n{}",
            self.value(),
            process.logs()
        )
    }
}

impl Builder {
    /// Arms `plan` in the process, in place of any other.
    pub fn crash(self, plan: &CrashPlan) -> Self {
        self.env(CRASH_VARIABLE, plan.value())
    }

    /// Arms no crash: what a restart after a crash wants.
    pub fn without_crash(self) -> Self {
        self.env_remove(CRASH_VARIABLE)
    }
}
