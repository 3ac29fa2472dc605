//! What follows a restore. A backup brings back what has ended since it was made, and would do again
//! what was done since.

use palyra_common::time::Timestamp;
use palyra_connector_core::doubt_what_came_back;
use palyra_identity::{BroughtBack, end_what_came_back};
use palyra_storage::{Database, StorageError, Tx, backup};
use serde_json::{Value, json};

use crate::audit;

/// What became of what a restore has brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aftermath {
    credentials: BroughtBack,
    messages_in_doubt: u64,
}

impl Aftermath {
    /// For programs, and for the audit trail.
    pub(crate) fn to_json(self) -> Value {
        let BroughtBack { logins_ended, login_codes_ended, tokens_valid } = self.credentials;
        json!({
            "logins_ended": logins_ended,
            "login_codes_ended": login_codes_ended,
            "tokens_valid": tokens_valid,
            "messages_in_doubt": self.messages_in_doubt,
        })
    }

    /// For people, with what to do about it.
    pub(crate) fn told(self) -> Vec<String> {
        let BroughtBack { logins_ended, login_codes_ended, tokens_valid } = self.credentials;
        let mut told = vec![format!(
            "all logins were ended ({logins_ended}), and all links to log in with \
             ({login_codes_ended}): `palyra dashboard` makes a new one"
        )];
        if tokens_valid > 0 {
            told.push(format!(
                "API tokens that are valid: {tokens_valid}; those that were revoked after the backup \
                 was made are among them again: `palyra auth tokens list` shows them, and `palyra \
                 auth tokens revoke ID` revokes one"
            ));
        }
        if self.messages_in_doubt > 0 {
            told.push(format!(
                "messages that had not gone out when the backup was made: {}; they may have gone out \
                 since, so none is sent before somebody decides: `palyra channels unknown list \
                 CHANNEL` shows them",
                self.messages_in_doubt
            ));
        }
        told
    }
}

/// Sees to what a restore has brought back, with an entry in the audit trail, before anybody is let
/// in or anything is sent. Nothing if the database was not restored, or somebody has done it.
pub(crate) async fn settle(
    db: &Database,
    now: Timestamp,
) -> Result<Option<Aftermath>, StorageError> {
    let entry = audit::of_node(db, now, "backup.restored");
    let settle = move |tx: &mut Tx<'_>| {
        if !backup::first_look(tx)? {
            return Ok(None);
        }
        let credentials = end_what_came_back(tx, now)?;
        let found = Aftermath { credentials, messages_in_doubt: doubt_what_came_back(tx, now)? };
        let detail = found.to_json().to_string();
        tx.record(palyra_storage::journal::JournalEvent { detail, ..entry.clone() });
        Ok(Some(found))
    };
    db.write(settle).await
}
