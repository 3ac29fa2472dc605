//! Ending a credential ends what it made, and what that made.

use palyra_common::ids::Principal;
use palyra_common::time::Timestamp;
use palyra_storage::{StorageError, Tx};
use serde_json::{Value, json};

use crate::Credential;
use crate::store::{api_tokens, console_logins, lineage, login_codes};

/// How many ended along with what was to end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    tokens: u64,
    logins: u64,
    login_codes: u64,
}

impl Ended {
    pub(crate) fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// As it stands in the journal.
    pub(crate) fn detail(self) -> Value {
        let Self { tokens, logins, login_codes } = self;
        let ended = json!({ "tokens": tokens, "logins": logins, "login_codes": login_codes });
        json!({ "ended": ended })
    }

    fn end(
        &mut self,
        tx: &mut Tx<'_>,
        credential: Credential,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        self.login_codes += login_codes::end_made_by(tx, credential, now)?;
        match credential {
            Credential::Token(id) => self.tokens += u64::from(api_tokens::revoke(tx, id, now)?),
            Credential::Login(id) => self.logins += u64::from(console_logins::end(tx, id, now)?),
            Credential::LocalOwner => {}
        }
        Ok(())
    }

    /// Ends a whole line. Whoever makes something holds the row of what it is made with, and whoever
    /// uses a code the row of the code, so ending them waits for both: after that the line is looked
    /// at again, until nobody was added.
    fn end_line(
        &mut self,
        tx: &mut Tx<'_>,
        now: Timestamp,
        line: impl Fn(&mut Tx<'_>) -> Result<Vec<Credential>, StorageError>,
    ) -> Result<(), StorageError> {
        let mut known = 0;
        loop {
            let found = line(tx)?;
            if found.len() == known {
                return Ok(());
            }
            known = found.len();
            for credential in found {
                self.end(tx, credential, now)?;
            }
        }
    }
}

/// Ends all that came from `maker`, which itself has been ended in this transaction.
pub(crate) fn end_made_with(
    tx: &mut Tx<'_>,
    maker: Credential,
    now: Timestamp,
) -> Result<Ended, StorageError> {
    let mut ended = Ended::default();
    ended.login_codes += login_codes::end_made_by(tx, maker, now)?;
    ended.end_line(tx, now, |tx| lineage::made_with(tx, maker))?;
    Ok(ended)
}

/// Ends all credentials of `principal`, who has been disabled in this transaction, and all that
/// came from them.
pub(crate) fn end_of_principal(
    tx: &mut Tx<'_>,
    principal: &Principal,
    now: Timestamp,
) -> Result<Ended, StorageError> {
    let mut ended = Ended::default();
    ended.end_line(tx, now, |tx| lineage::of_principal(tx, principal))?;
    Ok(ended)
}
