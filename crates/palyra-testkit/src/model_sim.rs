//! A simulator of model providers on loopback, in the dialects of OpenAI and of Anthropic, streaming
//! and not, with faults on demand.
//!
//! What it answers comes from a queue of replies, else from a rule, else it says what was said to it,
//! and calls a tool when a line of the last message is `use TOOL {json}`. It refuses what the real
//! ones refuse: names of tools that they do not take, results that belong to no call, empty texts.

mod anthropic;
mod asked;
mod echo;
mod openai;
mod reply;
mod script;
mod server;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::sync::oneshot;

pub use asked::{Asked, Dialect};
pub use echo::echo;
pub use reply::{Fault, Gate, Quirk, Reply, Wrong};

/// The model that it says it has.
pub const MODEL: &str = "sim-1";

type Rule = Box<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// A provider that runs until it is dropped, on a thread and a runtime of its own, so that a test may
/// stop its own time.
#[derive(Debug)]
pub struct ModelSim {
    address: SocketAddr,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    key: Option<String>,
    queue: VecDeque<Reply>,
    rule: Option<Rule>,
    asked: Vec<Asked>,
    left: usize,
}

impl ModelSim {
    /// Starts on a free port.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_on(0)
    }

    /// Starts on `port`.
    pub fn start_on(port: u16) -> anyhow::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("listen on port {port} of loopback for a model simulator"))?;
        listener.set_nonblocking(true).context("prepare the port of a model simulator")?;
        let address = listener.local_addr().context("read the address of a model simulator")?;
        let state = Arc::new(State::default());
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("make the runtime of a model simulator")?;
        let serving = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("model-sim".into())
            .spawn(move || runtime.block_on(server::run(listener, serving, stopped)))
            .context("start the thread of a model simulator")?;
        Ok(Self { address, state, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it is: `http://127.0.0.1:PORT`, which is its address for Anthropic.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its address for OpenAI.
    pub fn openai_url(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// Refuses whoever has another key, or none.
    pub fn require_key(&self, key: &str) {
        self.state.inner().key = Some(key.to_owned());
    }

    /// Answers the next request that has no reply yet with this.
    pub fn reply(&self, reply: Reply) {
        self.state.inner().queue.push_back(reply);
    }

    /// Answers what the queue does not by this rule.
    pub fn rule(&self, rule: impl Fn(&Asked) -> Reply + Send + Sync + 'static) {
        self.state.inner().rule = Some(Box::new(rule));
    }

    /// What was asked so far for an answer, in order, also what was refused for its shape.
    pub fn asked(&self) -> Vec<Asked> {
        self.state.inner().asked.clone()
    }

    /// How many clients went away before their answer had ended.
    pub fn left(&self) -> usize {
        self.state.inner().left
    }

    /// Waits until `count` clients have gone away in the middle.
    pub fn wait_for_left(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        self.wait(limit, |inner| inner.left >= count).context("wait for a client to go away")
    }

    /// Waits until it was asked `count` times.
    pub fn wait_for_asked(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        self.wait(limit, |inner| inner.asked.len() >= count).context("wait for a request")
    }

    fn wait(&self, limit: Duration, done: impl Fn(&Inner) -> bool) -> anyhow::Result<()> {
        let deadline = Instant::now() + limit;
        let mut inner = self.state.inner();
        while !done(&inner) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("it did not happen within {limit:?}");
            }
            let waited = self.state.changed.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }
}

impl Drop for ModelSim {
    fn drop(&mut self) {
        // Whatever is under way ends with the runtime.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl State {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request and says what to answer.
    fn note(&self, asked: Asked) -> Reply {
        let mut inner = self.inner();
        let reply = match inner.queue.pop_front() {
            Some(reply) => reply,
            None => inner.rule.as_ref().map_or_else(|| echo(&asked), |rule| rule(&asked)),
        };
        inner.asked.push(asked);
        self.changed.notify_all();
        reply
    }

    fn note_refused(&self, asked: Asked) {
        self.inner().asked.push(asked);
        self.changed.notify_all();
    }

    fn note_left(&self) {
        self.inner().left += 1;
        self.changed.notify_all();
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}
