//! A small S3-compatible server on loopback, with faults on demand.

mod connection;
mod store;

use std::collections::HashMap;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::Context;

pub use self::store::Fault;
use self::store::Store;

/// More connections at a time are closed at once.
const MAX_CONNECTIONS: usize = 64;

/// One bucket, kept in memory: PUT, GET (whole or a range), HEAD and DELETE of objects.
///
/// A caller is known by the id of its key; signatures are not checked.
#[derive(Debug)]
pub struct S3Server {
    store: Arc<Store>,
    port: u16,
    listening: Option<Listening>,
}

#[derive(Debug)]
struct Listening {
    links: Arc<Links>,
    acceptor: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Links {
    stopping: AtomicBool,
    open: Mutex<HashMap<u64, TcpStream>>,
}

impl S3Server {
    /// The only bucket.
    pub const BUCKET: &str = "palyra";
    /// The id of the only key that is let in.
    pub const KEY_ID: &str = "TESTKEY";

    /// Starts with an empty bucket.
    pub fn start() -> anyhow::Result<Self> {
        let listener = listen(0)?;
        let port = listener.local_addr().context("read the address of an S3 server")?.port();
        let store = Arc::new(Store::default());
        let listening = Some(Listening::start(listener, Arc::clone(&store))?);
        Ok(Self { store, port, listening })
    }

    /// Where to connect.
    pub fn endpoint(&self) -> String {
        format!("http://{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Lets the next `count` requests meet `fault`, in the order of the calls.
    pub fn fail_next(&self, count: usize, fault: Fault) {
        self.store.fail_next(count, fault);
    }

    /// Ends all connections and refuses new ones, until [`S3Server::come_back`].
    pub fn go_away(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.stop(self.port);
        }
    }

    /// Listens again at the same endpoint, with the objects that there were.
    pub fn come_back(&mut self) -> anyhow::Result<()> {
        if self.listening.is_none() {
            let listener = listen(self.port)?;
            self.listening = Some(Listening::start(listener, Arc::clone(&self.store))?);
        }
        Ok(())
    }

    /// The names of all objects, sorted.
    pub fn keys(&self) -> Vec<String> {
        self.store.objects().keys().cloned().collect()
    }

    /// Replaces or adds an object behind the back of clients.
    pub fn put(&self, key: &str, content: &[u8]) {
        self.store.objects().insert(key.to_owned(), content.to_vec());
    }

    /// Takes an object away behind the back of clients.
    pub fn remove(&self, key: &str) {
        self.store.objects().remove(key);
    }

    /// What was asked so far, as `PUT /bucket/key`, whether it was done or not.
    pub fn requests(&self) -> Vec<String> {
        self.store.requests().clone()
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.go_away();
    }
}

fn listen(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .with_context(|| format!("listen on port {port} of loopback for S3"))
}

impl Listening {
    fn start(listener: TcpListener, store: Arc<Store>) -> anyhow::Result<Self> {
        let links = Arc::new(Links::default());
        let accepting = Arc::clone(&links);
        let acceptor = thread::Builder::new()
            .name("s3-server".into())
            .spawn(move || accept(&accepting, &listener, &store))
            .context("start the accepting thread of an S3 server")?;
        Ok(Self { links, acceptor })
    }

    fn stop(self, port: u16) {
        self.links.stopping.store(true, Ordering::SeqCst);
        // The acceptor waits for a connection; this is its last.
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
            let _ = self.acceptor.join();
        }
    }
}

impl Links {
    fn open(&self) -> MutexGuard<'_, HashMap<u64, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves connections until the server stops, then ends those that are open.
fn accept(links: &Arc<Links>, listener: &TcpListener, store: &Arc<Store>) {
    let mut workers: Vec<JoinHandle<()>> = Vec::new();
    for (number, client) in (0..).zip(listener.incoming()) {
        if links.stopping.load(Ordering::SeqCst) {
            break;
        }
        workers.retain(|worker| !worker.is_finished());
        if workers.len() < MAX_CONNECTIONS
            && let Ok(client) = client
            && let Some(worker) = serve(links, number, client, store)
        {
            workers.push(worker);
        }
    }
    for client in links.open().values() {
        // It fails when the other end has closed, which is as good.
        let _ = client.shutdown(Shutdown::Both);
    }
    for worker in workers {
        let _ = worker.join();
    }
}

/// Starts the thread of one connection; nothing when there is no room for it, which the client
/// sees as a closed connection.
fn serve(
    links: &Arc<Links>,
    number: u64,
    client: TcpStream,
    store: &Arc<Store>,
) -> Option<JoinHandle<()>> {
    let ours = client.try_clone().ok()?;
    links.open().insert(number, client);
    let (serving, store) = (Arc::clone(links), Arc::clone(store));
    let worker = thread::Builder::new().name("s3-connection".into()).spawn(move || {
        // However it ends, so does the connection.
        let _ = connection::run(&ours, &store);
        let _ = ours.shutdown(Shutdown::Both);
        serving.open().remove(&number);
    });
    if worker.is_err() {
        links.open().remove(&number);
    }
    worker.ok()
}
