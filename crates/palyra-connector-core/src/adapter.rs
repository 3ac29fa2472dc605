//! What a platform implements.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use palyra_common::ids::NativeMessageId;
use palyra_common::time::{Duration, Timestamp};
use palyra_policy::outbox::{Reconciled, Repeat};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use crate::inbound::{Accepted, Inbound, InboundEvent};
use crate::outbox::Report;
use crate::store::connectors::Connector;
use crate::store::outbox::Stored;
use crate::{ChannelError, Reason};

/// Something that is waited for.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The port of a platform. It knows nothing of storage, retries or agents.
///
/// One value per connector instance; nothing is shared between two. Every method but
/// [`run`](Self::run) is called only while `run` runs. A future that is dropped may leave its work
/// half done: a send is then in doubt.
pub trait ConnectorAdapter: Send + Sync {
    /// What the platform can do.
    fn capabilities(&self) -> Capabilities;

    /// Holds the connection until `shutdown` is true, and hands over what comes in. Says why it
    /// ended; a panic counts as a crash.
    fn run(&self, context: AdapterContext, shutdown: watch::Receiver<bool>) -> Waiting<'_, End>;

    /// Asks for the platform's leave to send, before the attempt is written down: waiting for it
    /// is not an attempt.
    fn admit<'a>(&'a self, entry: &'a Stored) -> Waiting<'a, Admission>;

    /// Makes one attempt, without retries.
    fn send<'a>(&'a self, entry: &'a Stored, permit: Permit) -> Waiting<'a, Report>;

    /// Finds out what became of an attempt. Never guesses.
    fn reconcile<'a>(&'a self, entry: &'a Stored) -> Waiting<'a, Found>;

    /// How the connection is.
    fn snapshot(&self) -> RuntimeSnapshot;
}

/// What a platform can do, with its limits as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Whether messages can be changed afterwards.
    pub edit: bool,
    /// Whether messages can be taken back.
    pub delete: bool,
    /// Whether messages can be reacted to.
    pub react: bool,
    /// Whether there are threads.
    pub threads: bool,
    /// Whether what was said can be read.
    pub history: bool,
    /// The longest text of one message, in UTF-16 code units.
    pub max_text: usize,
    /// Whether the same message twice is one.
    pub repeat: Repeat,
}

/// What the platform says to a wish to send.
#[derive(Debug)]
pub enum Admission {
    /// Now.
    Ready(Permit),
    /// Not before this time.
    NotBefore(Timestamp),
}

/// The platform's leave, in the adapter's own words.
#[derive(Debug, Default)]
pub struct Permit(pub Option<Box<dyn Any + Send>>);

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Whether it is there.
    pub outcome: Reconciled,
    /// The name that the platform gave it.
    pub native: Option<NativeMessageId>,
}

/// Why an adapter has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It was asked to.
    AsAsked,
    /// The connection was lost for good, for this reason.
    Lost(Reason),
    /// The platform refused its credential.
    AuthFailed(Reason),
    /// There is no credential.
    MissingCredential(Reason),
    /// Its settings cannot work.
    Misconfigured(Reason),
}

/// How a connection is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuntimeSnapshot {
    /// Since when it has been connected.
    pub connected_since: Option<Timestamp>,
    /// When the platform last sent anything.
    pub last_event_at: Option<Timestamp>,
    /// When the platform last said that it is there.
    pub last_ack_at: Option<Timestamp>,
    /// How long that took.
    pub ack_latency: Option<Duration>,
    /// How often the connection was made anew.
    pub reconnects: u64,
}

/// What an adapter is given.
#[derive(Clone)]
pub struct AdapterContext {
    pub(crate) connector: Arc<Connector>,
    pub(crate) inbound: Inbound,
}

impl AdapterContext {
    /// The connector as it was when the adapter was started.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// Hands a message over. When this returns, it is kept.
    pub async fn accept(&self, event: InboundEvent) -> Result<Accepted, ChannelError> {
        self.inbound.accept(event).await
    }
}

/// Makes adapters.
pub trait AdapterRegistry: Send + Sync {
    /// Refuses a kind that there is not, and settings that cannot work.
    fn check(&self, kind: &str, settings: &Value) -> Result<(), String>;

    /// The adapter of a connector, or why there can be none.
    fn build(&self, connector: &Connector) -> Result<Arc<dyn ConnectorAdapter>, String>;
}
