//! Credentials that a restored database has brought back.

use palyra_common::time::Timestamp;
use palyra_storage::{StorageError, Tx};

use crate::TOPIC;
use crate::store::{api_tokens, console_logins, login_codes, principals};

/// What became of the credentials of a restored database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BroughtBack {
    /// Logins that were ended.
    pub logins_ended: u64,
    /// Login codes that were ended.
    pub login_codes_ended: u64,
    /// API tokens that are valid.
    pub tokens_valid: i64,
    /// Principals that have a role and are not disabled.
    pub principals_enabled: i64,
}

/// Ends every login and login code of a restored database. Some of them were ended after the backup
/// was made, which nobody can tell any more, and to log in again is easy.
///
/// What they made stays, and so do API tokens, which programs depend on, and principals. Among those
/// that are valid may be some that were revoked or disabled since; that is for a human to look at.
pub fn end_what_came_back(tx: &mut Tx<'_>, now: Timestamp) -> Result<BroughtBack, StorageError> {
    let found = BroughtBack {
        logins_ended: console_logins::end_all(tx, now)?,
        login_codes_ended: login_codes::end_all(tx, now)?,
        tokens_valid: api_tokens::count_valid(tx, now)?,
        principals_enabled: principals::count_enabled(tx)?,
    };
    tx.notify(TOPIC);
    Ok(found)
}
