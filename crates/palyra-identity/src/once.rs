//! Making something once, for callers who may have to ask twice.

use palyra_common::ids::Principal;
use palyra_common::time::Timestamp;
use palyra_storage::Tx;
use palyra_storage::once::{Claim, Once};

use crate::AuthError;

/// What an earlier request with the same key made, or nothing: then this one is to be carried out.
pub(crate) fn made_before(
    tx: &mut Tx<'_>,
    once: Option<&Once>,
    by: &Principal,
    made: &str,
    now: Timestamp,
) -> Result<Option<String>, AuthError> {
    let Some(once) = once else { return Ok(None) };
    match once.claim(tx, by, made, now)? {
        Claim::First => Ok(None),
        Claim::Again { made } => Ok(Some(made)),
        Claim::Taken => Err(AuthError::KeyTaken),
    }
}
