//! Who does something, for the audit trail.

use palyra_common::ids::{Credential, Principal};
use palyra_common::time::Timestamp;
use palyra_storage::journal::JournalEvent;
use palyra_storage::new_id;
use serde_json::Value;

/// Who has something done, with which credential, and from where.
#[derive(Debug, Clone)]
pub struct Actor {
    /// Who.
    pub by: Principal,
    /// By what that was proven.
    pub credential: Credential,
    /// From where.
    pub origin: String,
}

impl Actor {
    /// An entry of the audit trail about what they have done to `subject`, to be written with that.
    pub fn noted(
        &self,
        at: Timestamp,
        action: &str,
        subject: String,
        detail: Value,
    ) -> JournalEvent {
        JournalEvent {
            id: new_id(),
            at,
            actor: self.by.to_string(),
            action: action.to_owned(),
            subject,
            origin: self.origin.clone(),
            outcome: "ok".to_owned(),
            detail: self.credential.noted_in(detail).to_string(),
            content: None,
        }
    }
}
