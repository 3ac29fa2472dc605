//! What comes in, once each.

use std::sync::Arc;

use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId, NativeMessageId};
use palyra_common::queue::Backoff;
use palyra_common::runtime_contracts::{InboundState, RetryClass, RouteReason};
use palyra_common::time::{Clock, Timestamp};
use palyra_policy::inbound::{Event, Received, step};
use palyra_policy::route::{Audience, Author, Mentioned};
use palyra_storage::{Database, StorageError, Topic, Tx, crash_point};
use serde::{Deserialize, Serialize};

use crate::resume::{ResumeState, Save};
use crate::store::{connector_resume, inbound_cursors, inbound_events};
use crate::{ChannelError, Dice, Outgoing};

/// Told when something came in that could not be decided at once.
pub(crate) const TOPIC: Topic = Topic::new("inbound");

/// A message as an adapter hands it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundEvent {
    /// Through which connector it came.
    pub connector: ConnectorId,
    /// Its name on the platform. The same name again is the same message.
    pub message: NativeMessageId,
    /// Where it was said.
    pub conversation: ConversationId,
    /// The thread within that, if any.
    pub thread: Option<String>,
    /// Who said it, by the platform's name.
    pub sender: String,
    /// When, by the platform's clock.
    pub occurred_at: Timestamp,
    /// What was said.
    pub content: Content,
    /// How far the conversation was read with this, where the platform can be asked for more.
    pub cursor: Option<String>,
}

/// What was said, and to whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The text.
    pub text: String,
    /// Whether it was said between the sender and the bot alone.
    pub direct: bool,
    /// What kind of author it has.
    pub author: AuthorKind,
    /// Whether it names the bot.
    pub mentions_bot: bool,
    /// Whether it addresses everyone, or a role.
    pub addresses_all: bool,
    /// How many attachments it has.
    pub attachments: usize,
}

/// What kind of author a message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorKind {
    /// A person.
    Person,
    /// This bot.
    Own,
    /// Another program.
    Bot,
}

impl Content {
    /// The author, as routing asks for it.
    pub fn author(&self) -> Author {
        match self.author {
            AuthorKind::Person => Author::Person,
            AuthorKind::Own => Author::Own,
            AuthorKind::Bot => Author::Bot,
        }
    }

    /// Whether it names the bot, as routing asks for it.
    pub fn mention(&self) -> Mentioned {
        if self.mentions_bot { Mentioned::Yes } else { Mentioned::No }
    }

    /// Whom it addresses, as routing asks for it.
    pub fn audience(&self) -> Audience {
        if self.addresses_all { Audience::Everybody } else { Audience::Somebody }
    }
}

/// What whoever takes messages made of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// An agent has it, in this conversation.
    Routed {
        /// Why.
        reason: RouteReason,
        /// The conversation that it continues.
        session_key: String,
        /// The name under which it is answered in the same place, if it is.
        reply: Option<EnvelopeId>,
    },
    /// No agent is to have it.
    Ignored(RouteReason),
}

/// Takes messages. Implemented by whoever decides what becomes of them, so that the message, the
/// decision and the work that follows from it are one transaction.
///
/// It is called once for each message, in a transaction that may be run again before it is
/// committed: it must do nothing but write to `tx`. If it fails, what it has written is undone, the
/// message is kept, and it is called again later. The order is that in which adapters hand over, but for
/// one that failed: those that come after it do not wait.
pub trait InboundSink: Send + Sync {
    /// Decides about a message, and writes down what follows; what is to be said about it may go
    /// out as `outgoing` leaves it.
    fn accept(
        &self,
        tx: &mut Tx<'_>,
        event: &InboundEvent,
        outgoing: &dyn Outgoing,
        now: Timestamp,
    ) -> Result<Taken, ChannelError>;
}

/// What became of a message that was handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// It is decided.
    Decided(Taken),
    /// It is kept, and decided later.
    Later,
    /// It had come in before.
    Before,
}

/// What comes in, through all connectors. Cheap to clone.
#[derive(Clone)]
pub struct Inbound {
    db: Database,
    clock: Arc<dyn Clock>,
    dice: Arc<dyn Dice>,
    sink: Arc<dyn InboundSink>,
    outgoing: Arc<dyn Outgoing>,
}

/// How long to wait before a decision is tried again.
const BACKOFF: Backoff = Backoff {
    base: palyra_common::time::Duration::from_millis(250),
    cap: palyra_common::time::Duration::from_mins(1),
};

impl Inbound {
    /// Hands what comes in to `sink`, as it came in; what that says about it is cleaned by
    /// `outgoing`.
    pub fn new(
        db: Database,
        clock: Arc<dyn Clock>,
        dice: Arc<dyn Dice>,
        sink: Arc<dyn InboundSink>,
        outgoing: Arc<dyn Outgoing>,
    ) -> Self {
        Self { db, clock, dice, sink, outgoing }
    }

    /// Keeps a message, decides about it if that is possible now, and moves the cursor, all or
    /// nothing. However often and on however many nodes the same message is handed over, it is
    /// decided once.
    pub async fn accept(&self, event: InboundEvent) -> Result<Accepted, ChannelError> {
        self.accept_with(event, None).await
    }

    /// The same, and in the same transaction saves where the connection can be taken up again.
    pub(crate) async fn accept_with(
        &self,
        event: InboundEvent,
        save: Option<Save>,
    ) -> Result<Accepted, ChannelError> {
        let (now, asked) = (self.clock.now(), self.asked());
        let accept = move |tx: &mut Tx<'_>| -> Result<Accepted, StorageError> {
            let accepted = keep(tx, &asked, &event, now)?;
            // The last, so that others wait for it no longer than they must.
            if let Some(save) = &save {
                connector_resume::save(tx, &event.connector, save, now)?;
            }
            Ok(accepted)
        };
        crash_point!("inbound.before_commit");
        let accepted = self.db.write(accept).await?;
        crash_point!("inbound.after_commit");
        Ok(accepted)
    }

    /// Where a connection can be taken up again.
    pub(crate) async fn saved_resume(
        &self,
        connector: &ConnectorId,
    ) -> Result<Option<ResumeState>, ChannelError> {
        let connector = connector.clone();
        let saved = self.db.read(move |tx| connector_resume::get(tx, &connector)).await?;
        saved.map(|state| ResumeState::new(&state)).transpose()
    }

    pub(crate) async fn save_resume(
        &self,
        connector: &ConnectorId,
        save: Save,
    ) -> Result<(), ChannelError> {
        let (connector, now) = (connector.clone(), self.clock.now());
        let write = move |tx: &mut Tx<'_>| connector_resume::save(tx, &connector, &save, now);
        Ok(self.db.write(write).await?)
    }

    /// Decides about messages that could not be decided when they came in. Says how many are
    /// decided now, and when to come back for more.
    pub async fn decide_waiting(
        &self,
        limit: u32,
    ) -> Result<(u64, Option<Timestamp>), ChannelError> {
        let (now, asked) = (self.clock.now(), self.asked());
        let again = move |tx: &mut Tx<'_>| -> Result<(u64, Option<Timestamp>), StorageError> {
            let mut decided = 0;
            for (event, received) in inbound_events::claim_due(tx, now, limit)? {
                match decide(tx, &asked, &event, &received, now)? {
                    Accepted::Decided(_) => {
                        crash_point!("inbound.before_decide_commit");
                        decided += 1;
                    }
                    Accepted::Later | Accepted::Before => {}
                }
            }
            Ok((decided, inbound_events::next_due(tx)?))
        };
        let (decided, next) = self.db.write(again).await?;
        if decided > 0 {
            crash_point!("inbound.after_decide_commit");
        }
        Ok((decided, next))
    }

    fn asked(&self) -> Asked {
        let (dice, sink) = (self.dice.clone(), self.sink.clone());
        Asked { dice, sink, outgoing: self.outgoing.snapshot() }
    }

    /// Waits for messages that could not be decided at once.
    pub fn subscribe(&self) -> palyra_storage::Subscription {
        self.db.subscribe(TOPIC)
    }

    /// What was decided of a message that came in, and why.
    pub async fn decided(
        &self,
        connector: &ConnectorId,
        message: &NativeMessageId,
    ) -> Result<Option<(InboundState, Option<RouteReason>)>, StorageError> {
        let (connector, message) = (connector.clone(), message.clone());
        self.db.read(move |tx| inbound_events::decided(tx, &connector, &message)).await
    }

    /// How far a conversation was read.
    pub async fn cursor(
        &self,
        connector: &ConnectorId,
        conversation: &ConversationId,
    ) -> Result<Option<String>, StorageError> {
        let (connector, conversation) = (connector.clone(), conversation.clone());
        self.db.read(move |tx| inbound_cursors::get(tx, &connector, &conversation)).await
    }
}

/// Who is asked in a transaction.
struct Asked {
    dice: Arc<dyn Dice>,
    sink: Arc<dyn InboundSink>,
    outgoing: Arc<dyn Outgoing>,
}

/// Keeps a message and decides about it, unless it had come in before.
fn keep(
    tx: &mut Tx<'_>,
    asked: &Asked,
    event: &InboundEvent,
    now: Timestamp,
) -> Result<Accepted, StorageError> {
    if !inbound_events::add(tx, event, now)? {
        return Ok(Accepted::Before);
    }
    if let Some(cursor) = &event.cursor {
        inbound_cursors::advance(tx, &event.connector, &event.conversation, cursor)?;
    }
    decide(tx, asked, event, &Received::new(now), now)
}

/// Asks the sink, and writes down its decision or that there is none yet.
fn decide(
    tx: &mut Tx<'_>,
    asked: &Asked,
    event: &InboundEvent,
    received: &Received,
    now: Timestamp,
) -> Result<Accepted, StorageError> {
    let taken = tx.savepoint(|tx| asked.sink.accept(tx, event, &*asked.outgoing, now));
    let (happened, session_key) = match &taken {
        Ok(Taken::Routed { reason, session_key, .. }) => {
            (Event::Routed(*reason), Some(&**session_key))
        }
        Ok(Taken::Ignored(reason)) => (Event::Ignored(*reason), None),
        // What is wrong with the database as a whole undoes the message too: it was not
        // acknowledged, and comes again.
        Err(ChannelError::Storage(error)) if error.retry_class() != RetryClass::Permanent => {
            return Err(error.clone());
        }
        Err(error) => {
            let (connector, message) = (&event.connector, &event.message);
            tracing::warn!(%connector, %message, %error, "a message could not be decided yet");
            (Event::Undecided, None)
        }
    };
    let next = step(received, happened, BACKOFF, now, asked.dice.roll()).unwrap_or(*received);
    inbound_events::save(tx, event, &next, session_key)?;
    match (next.state, taken) {
        (InboundState::Received, _) | (_, Err(_)) => {
            tx.notify(TOPIC);
            Ok(Accepted::Later)
        }
        (InboundState::Routed | InboundState::Ignored, Ok(taken)) => Ok(Accepted::Decided(taken)),
    }
}
