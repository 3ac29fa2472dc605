//! Where servers live, and one of them with its programs.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use super::binaries::Binaries;
use super::lease::Lease;
use crate::account::Account;
use crate::{entropy, tool};

/// The role that owns everything; it says whose server it is where its name turns up.
pub(crate) const SUPERUSER: &str = "palyra";
pub(crate) const TOOL_LIMIT: Duration = Duration::from_secs(120);
const PID_FILE: &str = "data/postmaster.pid";
const LOG_TAIL_LINES: usize = 30;
/// A socket's path has room for 107 bytes; this leaves 50 for what is put below it.
const LONGEST_BASE: usize = 50;

/// The programs, the account they run under and the directory that servers are created in.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) binaries: Binaries,
    pub(crate) account: Option<Account>,
    pub(crate) base: PathBuf,
}

impl Site {
    pub(crate) fn find() -> anyhow::Result<Self> {
        let binaries = Binaries::find()?;
        let account = Account::instead_of_root(&["postgres", "nobody"])?;
        let base = base_directory(account.is_some())?;
        Ok(Self { binaries, account, base })
    }

    /// The directory in which this user's processes meet, apart from other versions of this code.
    pub(crate) fn shared_directory(&self) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (self.binaries.dir(), include_str!("supervisor.sh")).hash(&mut hasher);
        let uid = rustix::process::geteuid().as_raw();
        self.base.join(format!("palyra-pg-shared-{uid}-{:08x}", hasher.finish() as u32))
    }

    /// Creates `dir` for the account, or checks that nobody else put it there.
    pub(crate) fn prepare(&self, dir: &Path) -> anyhow::Result<()> {
        match fs::DirBuilder::new().mode(0o755).create(dir) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(error).with_context(|| format!("create {}", dir.display()));
            }
            _ => {}
        }
        let Ok(found) = fs::symlink_metadata(dir) else {
            return Ok(());
        };
        let own = rustix::process::geteuid().as_raw();
        let wanted = self.account.as_ref().map_or(own, Account::uid);
        if !found.is_dir() || (found.uid() != own && found.uid() != wanted) {
            bail!("{} belongs to another user: remove it", dir.display());
        }
        if found.uid() == wanted {
            return Ok(());
        }
        self.give(dir)
    }

    /// Hands a path to the account that removes the server's directory in the end.
    pub(crate) fn give(&self, path: &Path) -> anyhow::Result<()> {
        self.account.as_ref().map_or(Ok(()), |account| account.own(path))
    }

    pub(crate) fn random_port(&self) -> u16 {
        20_000 + (entropy::bits() % 40_000) as u16
    }
}

/// A directory that is short enough for a socket and that the account may rename and delete in.
fn base_directory(other_account: bool) -> anyhow::Result<PathBuf> {
    let candidates = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    let fits = |dir: &PathBuf| {
        let open = |path: &Path, bits| {
            fs::metadata(path).is_ok_and(|found| found.permissions().mode() & bits == bits)
        };
        dir.is_absolute()
            && dir.is_dir()
            && dir.as_os_str().len() <= LONGEST_BASE
            && (!other_account || (open(dir, 0o003) && dir.ancestors().all(|up| open(up, 0o001))))
    };
    candidates.into_iter().find(fits).context(
        "no temporary directory fits: set TMPDIR to a short path that every account may write to",
    )
}

pub(crate) fn socket_path(dir: &Path, port: u16) -> PathBuf {
    dir.join(format!(".s.PGSQL.{port}"))
}

/// A running server, and our part in keeping it so.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) site: Site,
    pub(crate) dir: PathBuf,
    pub(crate) port: u16,
    _lease: Lease,
}

impl Cluster {
    pub(crate) fn join(site: Site, dir: PathBuf, linger: Duration) -> anyhow::Result<Self> {
        let (lease, port) = Lease::join(&site, &dir, linger)?;
        Ok(Self { site, dir, port, _lease: lease })
    }

    /// Runs a client program against this server.
    pub(crate) fn client(
        &self,
        program: &str,
        args: &[&str],
        input: &str,
    ) -> anyhow::Result<String> {
        let mut command = self.site.binaries.command(program);
        command
            .env("PGHOST", &self.dir)
            .env("PGPORT", self.port.to_string())
            .env("PGUSER", SUPERUSER)
            .args(args);
        tool::run(&mut command, input, TOOL_LIMIT)
    }

    /// Runs `pg_ctl` as the account that owns the data.
    pub(crate) fn pg_ctl(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command: Command = self.site.binaries.command("pg_ctl");
        if let Some(account) = &self.site.account {
            account.apply(&mut command);
        }
        command.current_dir(&self.dir).args(["-D", "data"]).args(args);
        tool::run(&mut command, "", TOOL_LIMIT)
    }

    /// The last lines the server logged.
    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read(self.dir.join("server.log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        let kept = lines.len().saturating_sub(LOG_TAIL_LINES);
        format!("the server's log ends with:\n{}", lines[kept..].join("\n"))
    }

    /// The first line of the pid file; nothing when the server was stopped.
    pub(crate) fn postmaster_pid(&self) -> Option<i32> {
        let text = fs::read_to_string(self.dir.join(PID_FILE)).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    pub(crate) fn remove_pid_files(&self) -> anyhow::Result<()> {
        let socket_lock = self.dir.join(format!(".s.PGSQL.{}.lock", self.port));
        for file in [self.dir.join(PID_FILE), socket_lock] {
            fs::remove_file(&file).with_context(|| format!("remove {}", file.display()))?;
        }
        Ok(())
    }
}
