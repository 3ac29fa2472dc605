//! A running process and its end.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use super::builder::Builder;
use super::output::{Line, Missing, Output, Stream};
use crate::guard::Guard;

const POLL: Duration = Duration::from_millis(2);
/// How long the pipes of a dead process may stay open, held by a process that left its group.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);
/// Kills the group of a process whose test died first.
const GUARD: &str = r#"kill -s KILL -- "-$1""#;

/// A process with everything it started: killed when dropped, and its output shown if the test is
/// failing at that moment.
#[derive(Debug)]
pub struct Process {
    builder: Builder,
    output: Output,
    /// The position in the output at which the current incarnation begins.
    begins: usize,
    child: Child,
    /// There until the process is reaped: after that its id may be another's.
    guard: Option<Guard>,
}

/// How a process ended that was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// By itself, in time.
    Orderly(ExitStatus),
    /// By SIGKILL, because it was still there at the limit.
    Killed,
}

impl Process {
    /// Describes a process of the program `program`.
    pub fn builder(program: impl Into<PathBuf>) -> Builder {
        Builder::new(program)
    }

    pub(super) fn start(builder: Builder) -> anyhow::Result<Self> {
        let output = Output::new();
        let (child, guard) = launch(&builder, &output)?;
        Ok(Self { builder, output, begins: 0, child, guard: Some(guard) })
    }

    /// The id of the process, which is also that of its group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The data directory given to the builder.
    pub fn data_dir(&self) -> Option<&Path> {
        self.builder.data_directory()
    }

    /// Waits for a line that contains `text`, on either stream, since the last start.
    pub fn wait_for_line(&self, text: &str, limit: Duration) -> anyhow::Result<String> {
        self.wait_for(limit, |line| line.text.contains(text).then(|| line.text.clone()))
            .with_context(|| format!("waiting for a line with {text:?}"))
    }

    /// Waits for the first line since the last start to which `look` has an answer.
    pub fn wait_for<T>(
        &self,
        limit: Duration,
        look: impl FnMut(&Line) -> Option<T>,
    ) -> anyhow::Result<T> {
        self.output.find(self.begins, limit, look).map_err(|missing| {
            let why = match missing {
                Missing::Closed => "the process closed its output".to_owned(),
                Missing::TimedOut => format!("nothing within {limit:?}"),
            };
            anyhow!("{why}; it printed:\n{}", self.logs())
        })
    }

    /// Waits for the line that [`Builder::ready_line`] describes.
    pub fn wait_ready(&self, limit: Duration) -> anyhow::Result<String> {
        let text = self.builder.ready().context("the builder was given no ready line")?;
        self.wait_for_line(text, limit)
    }

    /// Every line printed to `stream`, over all restarts. Fails when there was too much to keep
    /// all of it.
    pub fn lines(&self, stream: Stream) -> anyhow::Result<Vec<String>> {
        let (dropped, lines) = self.output.lines();
        if dropped > 0 {
            bail!("the first {dropped} lines were dropped: the process prints too much");
        }
        let of_stream = lines.into_iter().filter(|line| line.stream == stream);
        Ok(of_stream.map(|line| line.text).collect())
    }

    /// What was printed to both streams, over all restarts, for a person to read.
    pub fn logs(&self) -> String {
        self.output.text()
    }

    /// The exit status, if the process has ended.
    pub fn try_wait(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        if self.guard.is_none() || self.has_ended()? { self.reap().map(Some) } else { Ok(None) }
    }

    /// Waits for the process to end by itself.
    pub fn wait(&mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                bail!("the process still runs after {limit:?}; it printed:\n{}", self.logs());
            }
            thread::sleep(POLL);
        }
    }

    /// Kills the process and its group with SIGKILL and reaps it. Afterwards everything it
    /// printed is collected.
    pub fn kill_dash_nine(&mut self) -> anyhow::Result<ExitStatus> {
        self.reap()
    }

    /// Asks the process to end with SIGTERM, and kills it and its group at the limit.
    pub fn terminate(&mut self, limit: Duration) -> anyhow::Result<Termination> {
        if self.guard.is_some() {
            kill_process(self.pid()?, Signal::TERM).context("send SIGTERM")?;
        }
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if let Some(status) = self.try_wait()? {
                return Ok(Termination::Orderly(status));
            }
            thread::sleep(POLL);
        }
        self.reap().map(|_| Termination::Killed)
    }

    /// Kills the process if it runs, and starts it again with the same data directory.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.restart_with(|builder| builder)
    }

    /// As [`Self::restart`], with a changed description.
    pub fn restart_with(&mut self, change: impl FnOnce(Builder) -> Builder) -> anyhow::Result<()> {
        self.reap()?;
        self.builder = change(self.builder.clone());
        self.begins = self.output.end();
        let (child, guard) = launch(&self.builder, &self.output)?;
        (self.child, self.guard) = (child, Some(guard));
        Ok(())
    }

    fn pid(&self) -> anyhow::Result<Pid> {
        let id = i32::try_from(self.child.id()).context("the process id is out of range")?;
        Pid::from_raw(id).context("the process id is zero")
    }

    /// Looks without reaping, so that the id stays ours for killing the group.
    fn has_ended(&self) -> anyhow::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let found = waitid(WaitId::Pid(self.pid()?), options).context("look at a child process")?;
        Ok(found.is_some())
    }

    /// Ends whatever is left of the group, then the process, then its guard; does nothing twice.
    fn reap(&mut self) -> anyhow::Result<ExitStatus> {
        if let Some(guard) = self.guard.take() {
            // An error means that the group is gone already.
            let _ = kill_process_group(self.pid()?, Signal::KILL);
            guard.dismiss();
            self.child.wait().context("reap a child process")?;
            self.output.wait_closed(DRAIN_LIMIT);
        }
        self.child.wait().context("read the status of a child process")
    }
}

impl Drop for Process {
    #[expect(clippy::print_stderr, reason = "a failing test shows what its process said")]
    fn drop(&mut self) {
        let ended = self.reap();
        if thread::panicking() {
            let program = self.builder.program().display();
            eprintln!("--- {program} ended with {ended:?}; it printed:\n{}---", self.logs());
        }
    }
}

fn launch(builder: &Builder, output: &Output) -> anyhow::Result<(Child, Guard)> {
    let mut child = builder
        .command()
        .spawn()
        .with_context(|| format!("start {}", builder.program().display()))?;
    let guard = match Guard::arm(GUARD, &[child.id().to_string()]) {
        Ok(guard) => guard,
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
    };
    if let Some(stdout) = child.stdout.take() {
        output.collect(Stream::Stdout, stdout);
    }
    if let Some(stderr) = child.stderr.take() {
        output.collect(Stream::Stderr, stderr);
    }
    Ok((child, guard))
}
