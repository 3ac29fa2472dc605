//! Conversations and the runs in them, for those who begin, watch and stop them.

mod acts;
mod fork;
mod page;
mod title;
mod wish;

use std::sync::Arc;

use palyra_common::ids::{AgentId, RunId, SessionId};
use palyra_common::runtime_contracts::RunLifecyclePhase;
use palyra_common::tape::{Input, RunFinished, TapeEntry, TapeEvent};
use palyra_common::time::{Clock, Timestamp};
use palyra_connector_core::Trail;
use palyra_policy::run::is_final;
use palyra_storage::once::{Claim, Once};
use palyra_storage::{Database, StorageError, Tx, new_id};

use crate::engine::{Hands, Submitted};
use crate::error::GatewayError;
use crate::store::runs::Run;
use crate::store::sessions::Session;
use crate::store::{runs, sessions, tape};

pub(crate) use acts::{Said, archive, rename, reset};
pub use acts::{begin, check_text};
pub(crate) use fork::Forked;
pub use page::NO_CURSOR;
pub(crate) use page::cursor;
pub use title::Title;
pub(crate) use wish::{Wished, stop_at_rest};

/// The longest input, in bytes.
pub const MAX_INPUT_BYTES: usize = 256 * 1024;

/// Sessions and runs. Cheap to clone.
#[derive(Clone)]
pub struct Sessions {
    db: Database,
    clock: Arc<dyn Clock>,
    hands: Hands,
}

/// What somebody wants of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// End it.
    Abort,
    /// Let it wait.
    Pause,
    /// Let it go on.
    Resume,
}

impl Sessions {
    /// Those in `db`.
    pub fn new(db: Database, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock, hands: Hands::default() }
    }

    /// What is said is worked on at once where one of `hands` is free.
    pub fn with_hands(self, hands: Hands) -> Self {
        Self { hands, ..self }
    }

    pub(crate) fn db(&self) -> &Database {
        &self.db
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The token of a worker of this node that has a hand free.
    pub(crate) fn free_hand(&self) -> Option<i64> {
        self.hands.take()
    }

    /// Begins a conversation with an agent.
    pub async fn begin(
        &self,
        agent: AgentId,
        surface: &'static str,
        title: String,
    ) -> Result<Session, GatewayError> {
        let (now, id) = (self.clock.now(), new_id());
        self.db.try_write(move |tx| begin(tx, id, &agent, surface, &title, now)).await
    }

    /// Says something in a conversation. With `once`, saying it again changes nothing.
    pub async fn say(
        &self,
        session: SessionId,
        input: Input,
        once: Option<(palyra_common::Principal, Once)>,
    ) -> Result<Submitted, GatewayError> {
        self.say_if(session, input, once, |_| Ok(())).await
    }

    /// The same, if it may be said: looked at in the transaction in which it is, and not again where it
    /// was said before.
    pub(crate) async fn say_if(
        &self,
        session: SessionId,
        input: Input,
        once: Option<(palyra_common::Principal, Once)>,
        may_be: impl Fn(&mut Tx<'_>) -> Result<(), GatewayError> + Send + Sync + 'static,
    ) -> Result<Submitted, GatewayError> {
        let said = Said::new(session, input, self.hands.take())?;
        let now = self.clock.now();
        let say = move |tx: &mut Tx<'_>| -> Result<Submitted, GatewayError> {
            let submitted = said.say(tx, None, now)?;
            if let Some((by, once)) = &once {
                match once.claim(tx, by, &submitted.run.to_string(), now)? {
                    Claim::First => {}
                    Claim::Again { made } => return Err(GatewayError::Before(made)),
                    Claim::Taken => return Err(GatewayError::KeyTaken),
                }
            }
            may_be(tx)?;
            Ok(submitted)
        };
        match self.db.try_write(say).await {
            // Undone, and told what was made the first time.
            Err(GatewayError::Before(made)) => {
                let run = made.parse().map_err(|_| GatewayError::KeyTaken)?;
                Ok(Submitted { run, session })
            }
            said => said,
        }
    }

    /// One conversation.
    pub async fn get(&self, id: SessionId) -> Result<Session, GatewayError> {
        let found = self.db.read(move |tx| sessions::one(tx, id)).await?;
        found.ok_or(GatewayError::NoSession(id))
    }

    /// Conversations, the newest first.
    pub async fn list(
        &self,
        after: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<Session>, StorageError> {
        self.db.read(move |tx| sessions::list(tx, after, limit)).await
    }

    /// Names a conversation.
    pub async fn rename(&self, id: SessionId, title: String) -> Result<Session, GatewayError> {
        let title = Title::parse(&title)?;
        self.db.try_write(move |tx| rename(tx, id, &title, None)).await
    }

    /// Puts a conversation away. What is under way in it goes on.
    pub async fn archive(&self, id: SessionId) -> Result<(), GatewayError> {
        let now = self.clock.now();
        self.db.try_write(move |tx| archive(tx, id, None, now).map(drop)).await
    }

    /// One run.
    pub async fn run(&self, id: RunId) -> Result<Run, GatewayError> {
        let found = self.db.read(move |tx| runs::one(tx, id)).await?;
        found.ok_or(GatewayError::NoRun(id))
    }

    /// What a run ended with, if it has.
    pub async fn ending(&self, id: RunId) -> Result<Option<RunFinished>, StorageError> {
        let last = self.db.read(move |tx| tape::end(tx, id)).await?;
        Ok(last.and_then(|entry| match entry.event {
            TapeEvent::RunFinished(finished) => Some(finished),
            _ => None,
        }))
    }

    /// Whether there is such a run, and it has not ended.
    pub async fn is_open(&self, id: RunId) -> Result<bool, StorageError> {
        let found = self.db.read(move |tx| runs::one(tx, id)).await?;
        Ok(found.is_some_and(|run| !is_final(run.phase)))
    }

    /// The run that answers a message of a platform, in the session of this key.
    pub async fn answering(
        &self,
        session_key: String,
        message: String,
    ) -> Result<Option<RunId>, StorageError> {
        self.db.read(move |tx| runs::answering(tx, &session_key, &message)).await
    }

    /// Runs, the newest first.
    pub async fn runs(
        &self,
        after: Option<RunId>,
        session: Option<SessionId>,
        phase: Option<RunLifecyclePhase>,
        limit: u32,
    ) -> Result<Vec<Run>, StorageError> {
        self.db.read(move |tx| runs::list(tx, after, session, phase, limit)).await
    }

    /// The events of a run behind `after`.
    pub async fn tape(
        &self,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<TapeEntry>, StorageError> {
        self.db.read(move |tx| tape::after(tx, run, after, limit)).await
    }

    /// Stops a run, or lets it wait or go on. One that a worker has is told; it obeys at once.
    pub async fn wish(
        &self,
        id: RunId,
        wish: Wish,
        by: String,
        trail: Trail,
    ) -> Result<Run, GatewayError> {
        let now = self.clock.now();
        let wished = Wished { run: id, wish, by, trail };
        self.db.try_write(move |tx| wished.obey(tx, None, now)).await
    }
}
