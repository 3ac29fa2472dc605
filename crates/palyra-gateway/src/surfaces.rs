//! What agents show in sessions, and what people do on it.

use palyra_common::Principal;
use palyra_common::a2ui::{self, Message, UserAction};
use palyra_common::ids::SessionId;
use palyra_common::runtime_contracts::Trust;
use palyra_common::tape::Input;
use palyra_common::time::Timestamp;
use palyra_storage::once::Once;
use palyra_storage::{StorageError, Tx};

use crate::engine::Submitted;
use crate::error::GatewayError;
use crate::sessions::{Said, Sessions};
use crate::store::sessions;
use crate::store::surfaces::{self, StoredSurface};

/// Surfaces of sessions. Cheap to clone.
#[derive(Clone)]
pub struct Surfaces(Sessions);

impl Surfaces {
    /// Those of these sessions.
    pub fn new(sessions: Sessions) -> Self {
        Self(sessions)
    }

    /// What is shown in a session now, by the ids of the surfaces.
    pub async fn shown(&self, session: SessionId) -> Result<Vec<StoredSurface>, GatewayError> {
        let read = move |tx: &mut Tx<'_>| match sessions::one(tx, session)? {
            Some(_) => surfaces::of_session(tx, session).map(Some),
            None => Ok(None),
        };
        self.0.db().read(read).await?.ok_or(GatewayError::NoSession(session))
    }

    /// Takes on what somebody did on a surface: a run answers it, as it does what a stranger says. With
    /// `once`, doing it again changes nothing.
    pub async fn act(
        &self,
        session: SessionId,
        action: UserAction,
        by: Principal,
        once: Option<(Principal, Once)>,
    ) -> Result<Submitted, GatewayError> {
        let input = said(&action, &by);
        let is_offered = move |tx: &mut Tx<'_>| is_offered(tx, session, &action, None);
        self.0.say_if(session, input, once, is_offered).await
    }
}

/// Something that somebody did on a surface.
#[derive(Debug, Clone)]
pub(crate) struct Acted {
    session: SessionId,
    action: UserAction,
    said: Said,
}

impl Acted {
    pub(crate) fn new(
        session: SessionId,
        action: UserAction,
        by: &Principal,
        worker: Option<i64>,
    ) -> Result<Self, GatewayError> {
        let said = Said::new(session, said(&action, by), worker)?;
        Ok(Self { session, action, said })
    }

    /// Takes it on, as part of a transaction, if the surface is at the version that is expected.
    pub(crate) fn take_on(
        &self,
        tx: &mut Tx<'_>,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Result<Submitted, GatewayError> {
        let submitted = self.said.say(tx, None, now)?;
        is_offered(tx, self.session, &self.action, expected)?;
        Ok(submitted)
    }
}

/// An action in words. Somebody has pressed a button, but its names and what it carries are the words of an
/// agent, and so of whatever it has read: nothing of it counts as what they have said.
fn said(action: &UserAction, by: &Principal) -> Input {
    Input { text: action.text(), sender: by.to_string(), trust: Trust::Untrusted, connector: None }
}

/// Refuses what the session's surfaces do not offer, and what one does that is not at the version that is
/// expected.
fn is_offered(
    tx: &mut Tx<'_>,
    session: SessionId,
    action: &UserAction,
    expected: Option<i64>,
) -> Result<(), GatewayError> {
    let id = &action.surface_id;
    let found = surfaces::one(tx, session, id)?;
    let found = found.ok_or_else(|| GatewayError::NoSurface { session, surface: id.clone() })?;
    GatewayError::unless_changed("surface", found.version, expected)?;
    let checked = action.check(&found.surface);
    checked.map_err(|fault| GatewayError::Invalid(fault.to_string()))
}

/// The surfaces of a session.
pub(crate) fn of_session(
    tx: &mut Tx<'_>,
    session: SessionId,
) -> Result<a2ui::Surfaces, StorageError> {
    let stored = surfaces::of_session(tx, session)?.into_iter();
    Ok(a2ui::Surfaces(stored.map(|stored| (stored.id, stored.surface)).collect()))
}

/// Writes down what messages make of the surfaces of a session, as a part of a transaction.
pub(crate) fn show(
    tx: &mut Tx<'_>,
    session: SessionId,
    messages: &[Message],
    now: Timestamp,
) -> Result<(), GatewayError> {
    let mut all = of_session(tx, session)?;
    for message in messages {
        all.apply(message).map_err(|fault| GatewayError::Invalid(fault.to_string()))?;
    }
    let mut touched: Vec<_> = messages.iter().map(|message| &message.surface).collect();
    touched.sort_unstable();
    touched.dedup();
    for id in touched {
        match all.0.get(id) {
            Some(surface) => surfaces::save(tx, session, id, surface, now)?,
            None => surfaces::remove(tx, session, id)?,
        }
    }
    Ok(())
}
