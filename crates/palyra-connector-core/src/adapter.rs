//! What a platform implements.

mod context;

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use palyra_common::ids::{ConversationId, NativeMessageId};
use palyra_common::time::Timestamp;
use palyra_policy::outbox::{Reconciled, Repeat};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::inbound::AuthorKind;
use crate::outbox::Report;
use crate::store::connectors::Connector;
use crate::store::outbox::Stored;
use crate::{Outgoing, Reason};

pub use context::{Accepting, AdapterContext};

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
    /// is not an attempt. Answers from what it knows, at once: whoever has to wait says until when
    /// ([`Admission::NotBefore`]). One that has not answered after 200 ms is asked again a second
    /// later.
    fn admit<'a>(&'a self, entry: &'a Stored) -> Waiting<'a, Admission>;

    /// Makes one attempt, without retries.
    fn send<'a>(&'a self, entry: &'a Stored, permit: Permit) -> Waiting<'a, Report>;

    /// Finds out what became of an attempt. Never guesses.
    fn reconcile<'a>(&'a self, entry: &'a Stored) -> Waiting<'a, Found>;

    /// Reads what was said in a conversation, as the platform has it now, the newest first. Asked
    /// only if [`Capabilities::history`] says so, and for what contains a text only if
    /// [`Capabilities::search`] does. Changes nothing.
    fn read<'a>(&'a self, wanted: &'a Reading) -> Waiting<'a, Result<Vec<OnPlatform>, Reason>>;

    /// Shows in a conversation that somebody is about to say something, for as long as the platform
    /// shows that. Asked only if [`Capabilities::typing`] says so. May be lost; nothing depends on it.
    fn typing<'a>(&'a self, conversation: &'a ConversationId) -> Waiting<'a, Result<(), Reason>>;
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
    /// Whether that can be asked for what contains a text.
    pub search: bool,
    /// Whether it can be shown that somebody is about to say something.
    pub typing: bool,
    /// The longest text of one message, in UTF-16 code units.
    pub max_text: usize,
    /// Whether the same message twice is one. A time counts from the beginning of the first attempt
    /// to the beginning of the last, which may take as long as attempts do.
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

impl End {
    /// The same without what is not to be kept.
    pub(crate) fn cleaned(self, outgoing: &dyn Outgoing) -> Self {
        match self {
            Self::AsAsked => Self::AsAsked,
            Self::Lost(reason) => Self::Lost(reason.cleaned(outgoing)),
            Self::AuthFailed(reason) => Self::AuthFailed(reason.cleaned(outgoing)),
            Self::MissingCredential(reason) => Self::MissingCredential(reason.cleaned(outgoing)),
            Self::Misconfigured(reason) => Self::Misconfigured(reason.cleaned(outgoing)),
        }
    }
}

/// What of a conversation is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Which conversation.
    pub conversation: ConversationId,
    /// Only what was said before this message.
    pub before: Option<NativeMessageId>,
    /// Only what contains this text, whether in capitals or not.
    pub containing: Option<String>,
    /// So many messages at most.
    pub limit: u32,
}

/// A message as the platform has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnPlatform {
    /// Its name.
    pub message: NativeMessageId,
    /// Who said it, by the platform's name.
    pub sender: String,
    /// What kind of author that is.
    pub author: AuthorKind,
    /// When, by the platform's clock.
    pub at: Timestamp,
    /// What it says now.
    pub text: String,
}

/// Makes adapters.
pub trait AdapterRegistry: Send + Sync {
    /// Refuses a kind that there is not, and settings that cannot work.
    fn check(&self, kind: &str, settings: &Value) -> Result<(), String>;

    /// The adapter of a connector, or why there can be none.
    fn build(&self, connector: &Connector) -> Result<Arc<dyn ConnectorAdapter>, String>;
}
