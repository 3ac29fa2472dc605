//! What the journal is told.

use palyra_common::ids::{Credential, EventId, Principal};
use palyra_common::time::Timestamp;
use palyra_storage::journal::JournalEvent;
use palyra_storage::{Tx, new_id};
use serde_json::Value;

use crate::{Access, Origin};

/// The entries that one transaction may record. Their ids are made before it, so that a unit that
/// is run again records the same.
#[derive(Debug, Clone)]
pub(crate) struct Audit {
    at: Timestamp,
    origin: Origin,
    credential: Option<Credential>,
    owner_created: EventId,
    done: EventId,
}

impl Audit {
    /// Of what nobody in particular has done.
    pub(crate) fn new(origin: &Origin, at: Timestamp) -> Self {
        let (origin, credential) = (origin.clone(), None);
        Self { at, origin, credential, owner_created: new_id(), done: new_id() }
    }

    /// Of what is done with the credential of `access`.
    pub(crate) fn by(access: &Access, origin: &Origin, at: Timestamp) -> Self {
        Self { credential: Some(access.credential), ..Self::new(origin, at) }
    }

    pub(crate) fn at(&self) -> Timestamp {
        self.at
    }

    /// The owner came to be.
    pub(crate) fn owner_created(&self, tx: &mut Tx<'_>) {
        let owner = Principal::owner();
        let subject = owner.to_string();
        let done = Done { action: "owner.created", subject, outcome: "ok", detail: Value::Null };
        self.record(tx, self.owner_created, &owner, done);
    }

    /// What the transaction is about. At most once for each.
    pub(crate) fn done(&self, tx: &mut Tx<'_>, actor: &Principal, done: Done) {
        self.record(tx, self.done, actor, done);
    }

    fn record(&self, tx: &mut Tx<'_>, id: EventId, actor: &Principal, done: Done) {
        let Done { action, subject, outcome, detail } = done;
        let detail = match self.credential {
            Some(used) => used.noted_in(detail),
            None => detail,
        };
        let detail = if detail.is_null() { "{}".to_owned() } else { detail.to_string() };
        tx.record(JournalEvent {
            id,
            at: self.at,
            actor: actor.to_string(),
            action: action.to_owned(),
            subject,
            origin: self.origin.to_string(),
            outcome: outcome.to_owned(),
            detail,
            content: None,
        });
    }
}

/// What was done to what.
pub(crate) struct Done {
    pub(crate) action: &'static str,
    pub(crate) subject: String,
    pub(crate) outcome: &'static str,
    pub(crate) detail: Value,
}
