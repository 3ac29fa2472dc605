//! What follows a restore. A backup brings back what has ended since it was made, and would do again
//! what was done since.

use palyra_common::time::Timestamp;
use palyra_connector_core::{CameBack, settle_what_came_back};
use palyra_gateway::{OntoTapes, RunsCameBack, pause_what_came_back};
use palyra_identity::{BroughtBack, end_what_came_back};
use palyra_storage::{Database, StorageError, Tx, backup};
use serde_json::{Value, json};

use crate::audit;

/// What became of what a restore has brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aftermath {
    credentials: BroughtBack,
    messages: CameBack,
    runs: RunsCameBack,
}

impl Aftermath {
    /// For programs, and for the audit trail.
    pub(crate) fn to_json(self) -> Value {
        let BroughtBack { logins_ended, login_codes_ended, tokens_valid, principals_enabled } =
            self.credentials;
        let CameBack { in_doubt, held, set_aside } = self.messages;
        json!({
            "logins_ended": logins_ended,
            "login_codes_ended": login_codes_ended,
            "tokens_valid": tokens_valid,
            "principals_enabled": principals_enabled,
            "messages_in_doubt": in_doubt,
            "messages_held": held,
            "messages_set_aside": set_aside,
            "runs_paused": self.runs.paused,
            "approvals_open": self.runs.questions,
        })
    }

    /// For people, with what to do about it.
    pub(crate) fn told(self) -> Vec<String> {
        let mut told = self.credentials_told();
        let CameBack { in_doubt, held, set_aside } = self.messages;
        if in_doubt > 0 {
            told.push(format!(
                "messages that had not gone out when the backup was made: {in_doubt}; they may have \
                 gone out since, so none is sent before somebody decides: `palyra channels unknown \
                 list CHANNEL` shows them"
            ));
        }
        if held > 0 {
            told.push(format!(
                "messages that waited for an approval when the backup was made, and do again: \
                 {held}; they may have been decided since: `palyra channels show CHANNEL` counts \
                 them"
            ));
        }
        if set_aside > 0 {
            told.push(format!(
                "messages that had come in and were undecided when the backup was made: {set_aside}; \
                 they may have been answered since, so nobody answers them: `palyra channels events \
                 CHANNEL` names them, and `palyra message read CHANNEL CONVERSATION` shows what they \
                 say"
            ));
        }
        told.extend(self.runs_told());
        told
    }

    fn runs_told(self) -> Vec<String> {
        let RunsCameBack { paused, questions } = self.runs;
        let mut told = Vec::new();
        if paused > 0 {
            told.push(format!(
                "runs of agents that had not ended when the backup was made: {paused}; they may have \
                 ended since, so none goes on before somebody resumes it: `palyra runs list` shows them"
            ));
        }
        if questions > 0 {
            told.push(format!(
                "questions of agents that waited for an answer when the backup was made, and do \
                 again: {questions}; they may have been decided since: `palyra approvals list` shows \
                 them"
            ));
        }
        told
    }

    fn credentials_told(self) -> Vec<String> {
        let BroughtBack { logins_ended, login_codes_ended, tokens_valid, principals_enabled } =
            self.credentials;
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
        // The owner is always there, and nobody can disable them.
        if principals_enabled > 1 {
            told.push(format!(
                "principals that are not disabled: {principals_enabled}; those that were disabled \
                 after the backup was made are among them again: `palyra auth principals list` shows \
                 them, and `palyra auth principals disable NAME` disables one"
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
        let messages = settle_what_came_back(tx, &OntoTapes, now)?;
        let found = Aftermath { credentials, messages, runs: pause_what_came_back(tx, now)? };
        let detail = found.to_json().to_string();
        tx.record(palyra_storage::journal::JournalEvent { detail, ..entry.clone() });
        Ok(Some(found))
    };
    db.write(settle).await
}
