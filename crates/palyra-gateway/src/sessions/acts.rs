//! What is done to a conversation, as part of a transaction. Whoever says at which version they have seen
//! it changes no other one.

use palyra_common::ids::{AgentId, SessionId};
use palyra_common::tape::Input;
use palyra_common::time::Timestamp;
use palyra_storage::Tx;

use super::{MAX_INPUT_BYTES, Title};
use crate::engine::{NewInput, Place, Submitted, submit};
use crate::error::GatewayError;
use crate::store::sessions::{NewSession, Session};
use crate::store::{agents, sessions};

/// Begins a conversation with an agent, as part of a transaction.
pub fn begin(
    tx: &mut Tx<'_>,
    id: SessionId,
    agent: &AgentId,
    surface: &str,
    title: &str,
    now: Timestamp,
) -> Result<Session, GatewayError> {
    if agents::one(tx, agent)?.is_none() {
        return Err(GatewayError::NoAgent(agent.clone()));
    }
    let key = id.to_string();
    sessions::add(tx, &NewSession { id, key: &key, agent, surface, title, reply_to: None }, now)?;
    found(tx, id)
}

/// Refuses what nobody can say.
pub fn check_text(text: &str) -> Result<(), GatewayError> {
    if text.trim().is_empty() {
        return Err(GatewayError::Invalid("there is nothing in the message".to_owned()));
    }
    if text.len() > MAX_INPUT_BYTES {
        let what = format!("a message has at most {MAX_INPUT_BYTES} bytes");
        return Err(GatewayError::Invalid(what));
    }
    Ok(())
}

/// Something that can be said, and where.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    session: SessionId,
    input: Input,
    /// The token of a worker that has room for it.
    worker: Option<i64>,
}

impl Said {
    pub(crate) fn new(
        session: SessionId,
        input: Input,
        worker: Option<i64>,
    ) -> Result<Self, GatewayError> {
        check_text(&input.text)?;
        Ok(Self { session, input, worker })
    }

    pub(crate) fn say(
        &self,
        tx: &mut Tx<'_>,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Result<Submitted, GatewayError> {
        if expected.is_some() {
            locked(tx, self.session, expected)?;
        }
        let new = NewInput {
            place: Place::Session(self.session),
            input: self.input.clone(),
            answers: None,
            parent: None,
            worker: self.worker,
        };
        submit(tx, &new, now)
    }
}

/// Names a conversation.
pub(crate) fn rename(
    tx: &mut Tx<'_>,
    id: SessionId,
    title: &Title,
    expected: Option<i64>,
) -> Result<Session, GatewayError> {
    locked(tx, id, expected)?;
    sessions::rename(tx, id, title.as_str())?;
    found(tx, id)
}

/// Puts a conversation away. What is under way in it goes on.
pub(crate) fn archive(
    tx: &mut Tx<'_>,
    id: SessionId,
    expected: Option<i64>,
    now: Timestamp,
) -> Result<Session, GatewayError> {
    locked(tx, id, expected)?;
    sessions::archive(tx, id, now)?;
    found(tx, id)
}

/// Lets a conversation go on without what was said in it: that stays to be read, and is shown to no model
/// any more. A run that is under way goes on, and knows of nothing but itself and what follows.
pub(crate) fn reset(
    tx: &mut Tx<'_>,
    id: SessionId,
    expected: Option<i64>,
    now: Timestamp,
) -> Result<Session, GatewayError> {
    let session = locked(tx, id, expected)?;
    if session.archived_at.is_some() {
        return Err(GatewayError::Archived(id));
    }
    sessions::reset(tx, id, now)?;
    found(tx, id)
}

/// Locks a conversation, if it is at the version that is expected.
pub(super) fn locked(
    tx: &mut Tx<'_>,
    id: SessionId,
    expected: Option<i64>,
) -> Result<Session, GatewayError> {
    let session = sessions::lock(tx, id)?.ok_or(GatewayError::NoSession(id))?;
    GatewayError::unless_changed("session", session.version, expected)?;
    Ok(session)
}

pub(super) fn found(tx: &mut Tx<'_>, id: SessionId) -> Result<Session, GatewayError> {
    sessions::one(tx, id)?.ok_or(GatewayError::NoSession(id))
}
