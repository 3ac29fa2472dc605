//! What every connector has to keep, as stories that a test runs: messages arrive once and in order,
//! whatever the platform does, and where nobody can know, the entry says so.
//!
//! A test gives each [`Story`] a place for a database and the other side of the connector as a
//! [`Platform`], which does as it is told and can be looked at. [`connector_conformance!`] stamps a
//! test for each story.

mod asked;
mod doubts;
mod failures;
mod node;
mod order;
mod received;

use std::sync::Arc;

use palyra_common::ids::{ConnectorId, EnvelopeId};
use palyra_common::time::Timestamp;
use palyra_storage::{OpenOptions, StorageError, Tx};
use serde_json::Value;

use crate::adapter::Waiting;
use crate::{AdapterRegistry, ChannelError, Deliveries, Delivery, Inbound, InboundEvent, Outgoing};

/// Lets every text out as it is, where there is no secret to keep.
#[derive(Debug, Clone, Copy)]
pub struct AsItIs;

impl Outgoing for AsItIs {
    fn clean(&self, text: &str) -> String {
        text.to_owned()
    }

    fn snapshot(&self) -> Arc<dyn Outgoing> {
        Arc::new(*self)
    }
}

/// Keeps no record of what is sent.
#[derive(Debug, Clone, Copy)]
pub struct NoRecord;

impl Deliveries for NoRecord {
    fn lock(&self, _: &mut Tx<'_>, _: &[&EnvelopeId]) -> Result<(), StorageError> {
        Ok(())
    }

    fn settled(&self, _: &mut Tx<'_>, _: Delivery<'_>, _: Timestamp) -> Result<(), StorageError> {
        Ok(())
    }
}

/// The other side of connectors. Each connector has its own part of it, an account with its own
/// conversations and its own weather.
pub trait Platform: Send + Sync {
    /// Makes the adapters that are tried.
    fn adapters(&self) -> Arc<dyn AdapterRegistry>;

    /// The kind of connector that is tried.
    fn kind(&self) -> &str;

    /// From now on the platform behaves like this towards a connector, as far as it is started with
    /// the settings that are returned.
    fn turn(&self, connector: &ConnectorId, weather: Weather) -> Value;

    /// Everything that a connector has said on the platform, in the order in which it arrived. What
    /// arrived twice is there twice.
    fn arrived(&self, connector: &ConnectorId) -> Vec<Arrived>;

    /// The conversations in which a connector has shown that it is about to say something, in order.
    fn typed(&self, connector: &ConnectorId) -> Vec<String>;

    /// Somebody says something on the platform. It comes in through the connector, or for a platform
    /// that nobody speaks on, through `inbound`. Told again, it comes in again, as platforms do.
    fn says<'a>(
        &'a self,
        inbound: &'a Inbound,
        event: InboundEvent,
    ) -> Waiting<'a, Result<(), ChannelError>>;
}

/// How a platform behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    /// It does what it is asked to.
    Fine,
    /// Of every three requests, one does not reach it, and that is known.
    Flaky,
    /// It asks to wait a few milliseconds, each time.
    RateLimited,
    /// It does what it is asked to, and the answer is lost.
    DropsAnswers,
    /// It takes requests, does nothing and does not answer.
    Hangs,
    /// It does what it is asked to, and does not answer.
    DoesAndHangs,
    /// It refuses messages for good.
    Refuses,
    /// It refuses the credential.
    RefusesCredential,
    /// There is a connection, on which it answers no heartbeat. A platform that answers some in other
    /// weather does so several times a second.
    Silent,
}

/// A message that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// Where it was said.
    pub conversation: String,
    /// What was said.
    pub text: String,
}

/// What a connector does not keep.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Broken(String);

impl From<ChannelError> for Broken {
    fn from(error: ChannelError) -> Self {
        Self(palyra_storage::describe(&error))
    }
}

impl From<StorageError> for Broken {
    fn from(error: StorageError) -> Self {
        Self(palyra_storage::describe(&error))
    }
}

/// Fails with what was found unless it is so.
fn ensure(is_so: bool, found: impl FnOnce() -> String) -> Result<(), Broken> {
    if is_so { Ok(()) } else { Err(Broken(found())) }
}

macro_rules! stories {
    ($($(#[doc = $doc:literal])* $story:ident $name:ident => $tell:path,)+) => {
        /// What a connector has to keep.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Story {
            $($(#[doc = $doc])* $story,)+
        }

        impl Story {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$story,)+];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$story => stringify!($name),)+ }
            }

            /// Tells it on the empty database that `options` name, and says what is not kept.
            pub async fn tell(
                self,
                options: OpenOptions,
                platform: Arc<dyn Platform>,
            ) -> Result<(), Broken> {
                match self { $(Self::$story => $tell(&options, platform).await,)+ }
            }
        }

        /// Stamps a test for each story, which hands the story to `$run`.
        #[macro_export]
        macro_rules! connector_conformance {
            ($run:path) => {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    $run($crate::conformance::Story::$story).await;
                })+
            };
        }
    };
}

stories! {
    /// Messages of one conversation arrive once and in order, though one request in three fails.
    Order messages_arrive_once_and_in_order => order::kept,
    /// A platform that asks to wait, for however long, costs no attempt and no message.
    RateLimit a_rate_limit_kills_nothing => failures::rate_limited,
    /// What the platform refuses is a dead letter, and arrives once when it is replayed.
    Rejection what_is_refused_is_a_dead_letter_that_can_be_replayed => failures::refused,
    /// A refused credential keeps the queue as it is.
    Credential a_refused_credential_keeps_the_queue => failures::credential_refused,
    /// A connector whose platform hangs delays no other.
    Isolation one_that_hangs_delays_no_other => failures::one_hangs,
    /// A message whose answer was lost is not sent a second time without anybody's decision.
    LostAnswer a_lost_answer_sends_nothing_twice => doubts::answer_lost,
    /// A request that is never answered ends.
    Silence a_request_without_an_answer_ends => doubts::never_answered,
    /// A node that dies in the middle of a request loses nothing and sends nothing twice.
    DeathBefore a_death_before_the_platform_took_it_loses_nothing => doubts::died_before,
    /// The same, where the platform has done it already.
    DeathAfter a_death_after_the_platform_took_it_sends_nothing_twice => doubts::died_after,
    /// What comes in again, from however many sides at once, is answered once.
    Redelivery what_comes_in_again_is_answered_once => received::again,
    /// What was said can be read from the platform, where it says so.
    History what_was_said_can_be_read_from_the_platform => asked::read_back,
    /// That somebody is about to say something is shown, where the platform says so, and said by nobody.
    Typing typing_is_shown_and_says_nothing => asked::typing,
    /// A platform that answers no heartbeats any more is told as silent, whatever else works.
    Contact a_platform_that_stops_to_answer_is_silent => asked::not_heard,
}
