//! How a process is started.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::Context;

use super::child::Process;
use crate::account::Account;
use crate::fs::ScratchDir;

/// The variable that tells a program where its data is.
pub const DATA_DIR_VARIABLE: &str = "PALYRA_DATA_DIR";
/// The variable that tells a test that it runs as the child of [`reexec_test`].
pub const CHILD_VARIABLE: &str = "PALYRA_TESTKIT_CHILD";

/// A program with its arguments, environment and data directory, to be started once or often.
#[derive(Clone, Debug)]
pub struct Builder {
    program: PathBuf,
    args: Vec<OsString>,
    /// In order; `None` removes.
    environment: Vec<(OsString, Option<OsString>)>,
    current_dir: Option<PathBuf>,
    ready: Option<String>,
    data_dir: Option<PathBuf>,
    /// Kept until the last process of this builder is gone.
    scratch: Vec<Arc<ScratchDir>>,
    account: Option<Account>,
}

/// The test `path` (`module::name`) of the running test executable, as a process of its own. The
/// test is to be marked `#[ignore]` and to return at once unless [`is_reexecuted`].
pub fn reexec_test(path: &str) -> anyhow::Result<Builder> {
    let program = std::env::current_exe().context("find the running test executable")?;
    // Without `--quiet` the harness may put its own words before the first line the test prints.
    Ok(Process::builder(program)
        .args(["--exact", path, "--ignored", "--nocapture", "--quiet"])
        .env(CHILD_VARIABLE, "1"))
}

/// Whether this process was started through [`reexec_test`].
pub fn is_reexecuted() -> bool {
    std::env::var_os(CHILD_VARIABLE).is_some()
}

impl Builder {
    pub(super) fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            environment: Vec::new(),
            current_dir: None,
            ready: None,
            data_dir: None,
            scratch: Vec::new(),
            account: None,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable; the others are those of the test.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    /// Removes a variable.
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// Runs the program in `dir`.
    pub fn current_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(dir.into());
        self
    }

    /// Uses `dir`, which the test looks after, as the data directory: `PALYRA_DATA_DIR`.
    pub fn data_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        self.data_dir = Some(dir.clone());
        self.env(DATA_DIR_VARIABLE, dir)
    }

    /// Creates a data directory that restarts keep and that goes with the last process using it.
    pub fn temporary_data_dir(mut self) -> anyhow::Result<Self> {
        let scratch = Arc::new(ScratchDir::new()?);
        if let Some(account) = &self.account {
            account.own(scratch.path())?;
        }
        let dir = scratch.path().to_owned();
        self.scratch.push(scratch);
        Ok(self.data_dir(dir))
    }

    /// What a line contains that says that the program is ready, for [`Process::wait_ready`].
    pub fn ready_line(mut self, text: impl Into<String>) -> Self {
        self.ready = Some(text.into());
        self
    }

    /// When the test is root, runs a copy of the program as `nobody`, who may reach neither the
    /// original in a private folder nor what permissions forbid. A temporary data directory that
    /// was asked for is given to `nobody`.
    pub fn unprivileged(mut self) -> anyhow::Result<Self> {
        let Some(account) = Account::instead_of_root(&["nobody"])? else {
            return Ok(self);
        };
        let scratch = ScratchDir::with_mode(0o755)?;
        let name = self.program.file_name().context("the program has no file name")?;
        let copy = scratch.path().join(name);
        std::fs::copy(&self.program, &copy)
            .with_context(|| format!("copy {}", self.program.display()))?;
        if let Some(owned) =
            self.scratch.iter().find(|dir| Some(dir.path()) == self.data_dir.as_deref())
        {
            account.own(owned.path())?;
        }
        let elsewhere = self.current_dir.take().unwrap_or_else(|| PathBuf::from("/"));
        self.current_dir = Some(elsewhere);
        self.program = copy;
        self.scratch.push(Arc::new(scratch));
        self.account = Some(account);
        Ok(self)
    }

    /// Starts the program in a process group of its own, collecting what it prints.
    pub fn spawn(self) -> anyhow::Result<Process> {
        Process::start(self)
    }

    pub(super) fn data_directory(&self) -> Option<&Path> {
        self.data_dir.as_deref()
    }

    pub(super) fn ready(&self) -> Option<&str> {
        self.ready.as_deref()
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(dir) = &self.current_dir {
            command.current_dir(dir);
        }
        if let Some(account) = &self.account {
            account.apply(&mut command);
        }
        command
    }
}
