//! A proxy that cuts connections at COMMIT, where the outcome becomes hard to know.

mod connection;
mod frames;
mod plan;

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, ensure};

use self::connection::Link;
use self::plan::Decider;
pub use self::plan::{CutCounts, CutKind, CutPlan};
use super::cluster::{Cluster, socket_path};
use super::{PostgresServer, TestDatabase};
use crate::entropy;

/// As many as the server takes itself; each costs two threads. More are refused.
const MAX_CONNECTIONS: usize = 200;

/// A Unix socket in front of a server that passes everything on, except at the COMMITs that its
/// plan chooses: there it cuts that one connection.
///
/// A COMMIT is recognised as a simple query and as the execution of a prepared statement. COPY is
/// passed on, but COMMITs after it on the same connection may not be cut.
#[derive(Debug)]
pub struct CutProxy {
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
    dir: PathBuf,
    port: u16,
}

#[derive(Debug)]
struct Shared {
    /// Of the directory and of all threads.
    name: String,
    /// Keeps the server, and with it the directory that the socket is in.
    cluster: Arc<Cluster>,
    decider: Decider,
    stopping: AtomicBool,
    links: Mutex<HashMap<u64, Arc<Link>>>,
}

impl CutProxy {
    /// Listens in front of `server`.
    pub fn start(server: &PostgresServer, plan: CutPlan) -> anyhow::Result<Self> {
        let cluster = server.cluster();
        let port = cluster.site.random_port();
        // Inside the server's directory, so that it goes with it if this process is killed.
        let name = format!("proxy-{:08x}", entropy::bits() as u32);
        let dir = cluster.dir.join(&name);
        cluster.site.prepare(&dir)?;
        let socket = socket_path(&dir, port);
        let listener = UnixListener::bind(&socket)
            .with_context(|| format!("listen on {}", socket.display()))?;
        fs::set_permissions(&socket, Permissions::from_mode(0o777))
            .with_context(|| format!("open {} to all", socket.display()))?;
        let shared = Arc::new(Shared {
            name,
            cluster,
            decider: Decider::new(plan),
            stopping: AtomicBool::new(false),
            links: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        let acceptor = shared
            .thread()
            .spawn(move || accept(&accepting, &listener))
            .context("start the accepting thread of a proxy")?;
        Ok(Self { shared, acceptor: Some(acceptor), dir, port })
    }

    /// Replaces the plan; its count of COMMITs begins anew.
    pub fn set_plan(&self, plan: CutPlan) {
        self.shared.decider.set_plan(plan);
    }

    /// What has been seen and cut since the start.
    pub fn counts(&self) -> CutCounts {
        self.shared.decider.counts()
    }

    /// Blocks until the server is done with every COMMIT that was cut late, and says what has been
    /// seen by then.
    pub fn wait_for_late(&self, limit: Duration) -> anyhow::Result<CutCounts> {
        let counts = self.shared.decider.wait_for_late(limit);
        ensure!(
            counts.late_ended == counts.late_forward,
            "late COMMITs still travel after {limit:?}: {counts:?}"
        );
        Ok(counts)
    }

    /// Where to connect to `database` through this proxy.
    pub fn url(&self, database: &TestDatabase) -> String {
        database.url_through(&self.dir, self.port)
    }

    /// The directory of the socket: the `host` of a connection.
    pub fn socket_dir(&self) -> &Path {
        &self.dir
    }

    /// The number in the socket's name: the `port` of a connection.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for CutProxy {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // The acceptor waits for a connection; this is its last.
        let woken = UnixStream::connect(socket_path(&self.dir, self.port)).is_ok();
        if let (true, Some(acceptor)) = (woken, self.acceptor.take()) {
            let _ = acceptor.join();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Shared {
    fn thread(&self) -> thread::Builder {
        thread::Builder::new().name(self.name.clone())
    }

    fn links(&self) -> MutexGuard<'_, HashMap<u64, Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves connections until the proxy stops, then ends those that are open.
fn accept(shared: &Arc<Shared>, listener: &UnixListener) {
    let mut workers: Vec<JoinHandle<()>> = Vec::new();
    for (number, client) in (0..).zip(listener.incoming()) {
        if shared.stopping.load(Ordering::SeqCst) {
            break;
        }
        workers.retain(|worker| !worker.is_finished());
        if workers.len() < MAX_CONNECTIONS
            && let Ok(client) = client
            && let Some(worker) = serve(shared, number, client)
        {
            workers.push(worker);
        }
    }
    for link in shared.links().values() {
        link.cut();
    }
    for worker in workers {
        let _ = worker.join();
    }
}

/// Starts the thread of one connection; nothing when the server cannot be reached, which the
/// client sees as a closed connection.
fn serve(shared: &Arc<Shared>, number: u64, client: UnixStream) -> Option<JoinHandle<()>> {
    let cluster = &shared.cluster;
    let server = UnixStream::connect(socket_path(&cluster.dir, cluster.port)).ok()?;
    let link = Arc::new(Link::new(client, server));
    shared.links().insert(number, Arc::clone(&link));
    let serving = Arc::clone(shared);
    let worker = shared.thread().spawn(move || {
        link.run(&serving.decider, serving.thread());
        serving.links().remove(&number);
    });
    if worker.is_err() {
        shared.links().remove(&number);
    }
    worker.ok()
}
