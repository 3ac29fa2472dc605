//! The server that tests see.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::cluster::{Cluster, Site};
use super::database::{DatabaseLocale, TestDatabase};

/// Long enough to bridge the gap between two test processes, short enough to be gone soon after.
const SHARED_LINGER: Duration = Duration::from_secs(3);
const DEATH_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);

/// A Postgres of our own: its data directory, a Unix socket, no network.
///
/// It ends and its directory is removed when the last process that uses it lets go of it or dies,
/// however it dies.
#[derive(Debug)]
pub struct PostgresServer {
    cluster: Arc<Cluster>,
}

/// How a server is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopMode {
    /// Ends connections, writes a checkpoint.
    Fast,
    /// Drops everything; the next start recovers from the log.
    Immediate,
}

impl PostgresServer {
    /// The server that all test processes of this user share; the first one starts it.
    ///
    /// It cannot be stopped by a test, which needs a server of its own from [`Self::start`].
    pub fn shared() -> anyhow::Result<&'static Self> {
        static SHARED: OnceLock<PostgresServer> = OnceLock::new();
        static STARTING: Mutex<()> = Mutex::new(());

        let _one_at_a_time = STARTING.lock();
        if let Some(server) = SHARED.get() {
            return Ok(server);
        }
        let site = Site::find()?;
        let dir = site.shared_directory();
        let cluster = Cluster::join(site, dir, SHARED_LINGER)?;
        Ok(SHARED.get_or_init(|| Self { cluster: Arc::new(cluster) }))
    }

    /// A server for one test, to stop, start and kill. Its drop, and that of its databases, waits
    /// until it is gone.
    pub fn start() -> anyhow::Result<Self> {
        let site = Site::find()?;
        let dir = tempfile::Builder::new()
            .prefix("palyra-pg-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(&site.base)
            .context("create a directory for Postgres")?;
        let cluster = Cluster::join(site, dir.path().to_owned(), Duration::ZERO)?;
        // From here on the supervisor removes it.
        let _ = dir.keep();
        Ok(Self { cluster: Arc::new(cluster) })
    }

    /// An empty database with a name of its own, dropped with the returned value.
    pub fn create_database(&self, locale: DatabaseLocale) -> anyhow::Result<TestDatabase> {
        TestDatabase::create(Arc::clone(&self.cluster), locale)
    }

    /// The directory of the socket: the `host` of a connection.
    pub fn socket_dir(&self) -> &Path {
        &self.cluster.dir
    }

    /// The number in the socket's name: the `port` of a connection.
    pub fn port(&self) -> u16 {
        self.cluster.port
    }

    pub(super) fn cluster(&self) -> Arc<Cluster> {
        Arc::clone(&self.cluster)
    }

    /// Stops the server and waits until it has stopped.
    pub fn stop(&mut self, mode: StopMode) -> anyhow::Result<()> {
        let mode = match mode {
            StopMode::Fast => "fast",
            StopMode::Immediate => "immediate",
        };
        self.cluster.pg_ctl(&["stop", "-w", "-t", "90", "-m", mode]).map(drop)
    }

    /// Starts the stopped or killed server and waits until it takes connections.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        // A killed server may stay a zombie for seconds, which Postgres takes for a living one.
        if self.cluster.postmaster_pid().is_some_and(|pid| !is_alive(pid)) {
            self.cluster.remove_pid_files()?;
        }
        let started = self.cluster.pg_ctl(&["start", "-w", "-t", "90", "-l", "server.log"]);
        started.map(drop).with_context(|| self.cluster.log_tail())
    }

    /// Kills every process of the server with SIGKILL and waits until they are dead.
    pub fn kill_dash_nine(&mut self) -> anyhow::Result<()> {
        let postmaster = self
            .cluster
            .postmaster_pid()
            .filter(|pid| self.is_postmaster(*pid))
            .context("the server is not running")?;
        // It stands still first: it would begin another backend for whoever comes meanwhile, and
        // one that is not known here would live on and keep the memory of the server.
        stop_still(postmaster)?;
        let mut doomed = vec![postmaster];
        doomed.extend(children_of(postmaster));
        for pid in doomed.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            // One that has ended meanwhile is as dead as it should be.
            let _ = kill_process(pid, Signal::KILL);
        }
        let deadline = Instant::now() + DEATH_LIMIT;
        while doomed.iter().any(|pid| is_alive(*pid)) {
            if Instant::now() >= deadline {
                bail!("Postgres processes {doomed:?} survive SIGKILL for {DEATH_LIMIT:?}");
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Whether the id that a pid file names is still that of our server: it works in its data.
    fn is_postmaster(&self, pid: i32) -> bool {
        let data = self.cluster.dir.join("data").canonicalize();
        let works_in = std::fs::read_link(format!("/proc/{pid}/cwd"));
        is_alive(pid) && works_in.is_ok_and(|dir| data.is_ok_and(|data| dir == data))
    }
}

/// Stops a process in its tracks, and waits until it stands.
fn stop_still(pid: i32) -> anyhow::Result<()> {
    let stopped = Pid::from_raw(pid).context("no process has this id")?;
    kill_process(stopped, Signal::STOP)?;
    let deadline = Instant::now() + DEATH_LIMIT;
    while state_and_parent(pid).is_some_and(|(state, _)| state != "T" && state != "Z") {
        if Instant::now() >= deadline {
            bail!("the process {pid} does not stop for {DEATH_LIMIT:?}");
        }
        thread::sleep(POLL);
    }
    Ok(())
}

fn children_of(parent: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| state_and_parent(*pid).is_some_and(|(_, of)| of == parent))
        .collect()
}

/// A zombie is dead: whoever must reap it may be slow about it.
fn is_alive(pid: i32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| state != "Z")
}

/// The third and fourth field of `/proc/<pid>/stat`; the second is a name in brackets, which may
/// itself hold spaces and brackets.
fn state_and_parent(pid: i32) -> Option<(String, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}
