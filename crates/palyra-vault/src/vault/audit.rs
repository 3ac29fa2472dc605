//! What the vault writes to the journal. Names and numbers, never values.

use palyra_common::ids::{Credential, EventId, Principal};
use palyra_common::text::strip_nul;
use palyra_common::time::Timestamp;
use palyra_storage::journal::JournalEvent;
use palyra_storage::{Tx, new_id};

use super::Actor;
use crate::name::SecretName;

/// The longest text of a caller that is kept.
const MAX_CHARS: usize = 200;

/// An entry to be. Made before the transaction, so that a unit that is run again writes the same.
pub(super) struct Entry {
    id: EventId,
    at: Timestamp,
    by: Principal,
    credential: Option<Credential>,
    origin: String,
    action: &'static str,
    subject: String,
}

impl Entry {
    pub(super) fn new(action: &'static str, subject: String, by: &Actor, at: Timestamp) -> Self {
        let origin = bounded(&by.origin);
        let Actor { by, credential, .. } = by.clone();
        Self { id: new_id(), at, by, credential, origin, action, subject }
    }

    pub(super) fn at(&self) -> Timestamp {
        self.at
    }

    pub(super) fn by(&self) -> &Principal {
        &self.by
    }

    /// Adds the entry to the transaction: if it cannot be written, neither is anything else.
    pub(super) fn record(&self, tx: &mut Tx<'_>, outcome: &str, detail: serde_json::Value) {
        let detail = match self.credential {
            Some(used) => used.noted_in(detail),
            None => detail,
        };
        tx.record(JournalEvent {
            id: self.id,
            at: self.at,
            actor: self.by.to_string(),
            action: self.action.into(),
            subject: self.subject.clone(),
            origin: self.origin.clone(),
            outcome: outcome.into(),
            detail: detail.to_string(),
            content: None,
        });
    }
}

pub(super) fn subject(name: &SecretName) -> String {
    format!("secret:{name}")
}

/// A caller's words, as far as they fit.
pub(super) fn bounded(text: &str) -> String {
    strip_nul(text).chars().take(MAX_CHARS).collect()
}
