//! The right to use a server's directory, held by any number of processes at once.
//!
//! A directory is created by its first user, supervised by one shell process (`supervisor.sh`) and
//! removed by that process once no user is left. Users are counted by the kernel: each holds a
//! shared `flock` on `users.lock`, which ends with the process however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::binaries::without_settings;
use super::cluster::{SUPERUSER, Site, socket_path};
use crate::tool;

const SUPERVISOR: &str = include_str!("supervisor.sh");
/// `initdb` takes seconds on a loaded machine; more than this is a failure.
const START_LIMIT: Duration = Duration::from_secs(180);
const END_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);
/// A supervisor that ends without a word twice will not do better the third time.
const SUPERVISOR_STARTS: u32 = 2;

/// A shared lock on a server's directory.
#[derive(Debug)]
pub(crate) struct Lease {
    site: Site,
    dir: PathBuf,
    linger: Duration,
    users: Option<File>,
    supervisor: Option<Child>,
}

impl Lease {
    /// Joins the server of `dir`, which is created and started when it is not there. Returns the
    /// lease and the server's port. `linger` is how long the server stays without users.
    pub(crate) fn join(site: &Site, dir: &Path, linger: Duration) -> anyhow::Result<(Self, u16)> {
        let deadline = Instant::now() + START_LIMIT;
        let users = Some(lock_users(site, dir, deadline)?);
        let (site, dir) = (site.clone(), dir.to_owned());
        let mut lease = Self { site, dir, linger, users, supervisor: None };
        let mut starts = 0;
        loop {
            if lease.ensure_supervisor()? {
                starts += 1;
                if starts > SUPERVISOR_STARTS {
                    bail!("the Postgres supervisor ends at once: {}", start_log(&lease.dir));
                }
            } else if let Ok(log) = fs::read_to_string(lease.dir.join("failed")) {
                bail!("Postgres did not start in {}: {}", lease.dir.display(), log.trim());
            } else if let Some(port) = ready_port(&lease.dir) {
                return Ok((lease, port));
            }
            if Instant::now() >= deadline {
                bail!("Postgres not ready after {START_LIMIT:?}: {}", start_log(&lease.dir));
            }
            thread::sleep(POLL);
        }
    }

    /// Starts a supervisor where none lives, and says whether it did.
    fn ensure_supervisor(&mut self) -> anyhow::Result<bool> {
        let Some(lock) = lock_without_supervisor(&self.dir)? else {
            return Ok(false);
        };
        if let Some(mut dead) = self.supervisor.take() {
            let _ = dead.wait();
        }
        self.supervisor = Some(spawn_supervisor(&self.site, &self.dir, lock, self.linger)?);
        Ok(true)
    }
}

impl Drop for Lease {
    /// Where the server goes with this lease, waits until it has gone.
    fn drop(&mut self) {
        if self.linger.is_zero() {
            // Somebody may have killed the supervisor, and nobody else will join.
            let _ = self.ensure_supervisor();
        }
        drop(self.users.take());
        if let (true, Some(supervisor)) = (self.linger.is_zero(), &mut self.supervisor) {
            let _ = tool::wait(supervisor, END_LIMIT);
        }
    }
}

/// A shared lock on the `users.lock` that is in place, as opposed to one being removed.
fn lock_users(site: &Site, dir: &Path, deadline: Instant) -> anyhow::Result<File> {
    let path = dir.join("users.lock");
    loop {
        site.prepare(dir)?;
        if let Some(file) = open_lock(&path)?
            && locked(file.try_lock_shared())?
            && is_at(&file, &path)
        {
            return Ok(file);
        }
        if Instant::now() >= deadline {
            bail!("{} stays locked: is a Postgres there unable to stop?", path.display());
        }
        thread::sleep(POLL);
    }
}

/// The supervisor's lock, if no supervisor holds it. What a dead one announced is withdrawn.
fn lock_without_supervisor(dir: &Path) -> anyhow::Result<Option<File>> {
    let Some(file) = open_lock(&dir.join("supervisor.lock"))? else {
        bail!("{} vanished while in use", dir.display());
    };
    if !locked(file.try_lock())? {
        return Ok(None);
    }
    for announcement in ["ready", "failed"] {
        match fs::remove_file(dir.join(announcement)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(Some(file))
}

/// Starts the supervisor in a process group of its own, out of reach of what ends the test. The
/// lock travels as its standard input and is free again when the supervisor ends.
fn spawn_supervisor(
    site: &Site,
    dir: &Path,
    lock: File,
    linger: Duration,
) -> anyhow::Result<Child> {
    let mut command = Command::new("sh");
    without_settings(&mut command);
    if let Some(account) = &site.account {
        account.apply(&mut command);
    }
    command
        .args(["-c", SUPERVISOR, "palyra-testkit-postgres"])
        .arg(site.binaries.dir())
        .arg(site.random_port().to_string())
        .arg(linger.as_secs().to_string())
        .arg(SUPERUSER)
        .current_dir(dir)
        .process_group(0)
        .stdin(Stdio::from(lock))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("start the Postgres supervisor with sh")
}

fn ready_port(dir: &Path) -> Option<u16> {
    let port = fs::read_to_string(dir.join("ready")).ok()?.trim().parse().ok()?;
    UnixStream::connect(socket_path(dir, port)).ok().map(|_| port)
}

fn start_log(dir: &Path) -> String {
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_default();
    format!("{}{}", read("start.log"), read("server.log"))
}

/// Opens or creates a lock file; nothing when its directory is not there.
fn open_lock(path: &PathBuf) -> anyhow::Result<Option<File>> {
    match OpenOptions::new().read(true).append(true).create(true).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("open {}", path.display())),
    }
}

fn locked(result: Result<(), TryLockError>) -> anyhow::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error).context("lock a file"),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(there)) => identity(held) == identity(there),
        _ => false,
    }
}
