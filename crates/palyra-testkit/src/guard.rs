//! Cleaning up after a test process that cannot do it itself any more.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;

use crate::tool;

const FIRE_LIMIT: Duration = Duration::from_secs(60);

/// A shell that waits for the end of this process, by SIGKILL or otherwise, and then runs a script.
///
/// It reads from a pipe that only this process holds open. It has a process group of its own, so
/// that what is sent to the test's group (a time limit, Ctrl-C) does not reach it.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// Arms `script`, which sees `args` as `$1`, `$2` ….
    pub(crate) fn arm<A: AsRef<OsStr>>(script: &str, args: &[A]) -> anyhow::Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", &format!("read -r _\n{script}"), "palyra-testkit-guard"])
            .args(args)
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("start a guard with sh")?;
        Ok(Self { shell })
    }

    /// Runs the script now and waits for its end.
    pub(crate) fn fire(mut self) -> anyhow::Result<()> {
        drop(self.shell.stdin.take());
        tool::wait(&mut self.shell, FIRE_LIMIT).map(drop)
    }

    /// Ends the guard; its script never runs.
    pub(crate) fn dismiss(mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
