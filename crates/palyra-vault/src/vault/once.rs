//! Requests with a key, which are carried out once.

use palyra_storage::Tx;
use palyra_storage::once::{Claim, Once, TAKEN};

use super::audit::Entry;
use crate::VaultError;

/// What an earlier request with the same key made, or nothing: then this one is to be carried out, and
/// `made` is what a later one is told.
pub(super) fn made_before(
    tx: &mut Tx<'_>,
    once: Option<&Once>,
    made: &str,
    entry: &Entry,
) -> Result<Option<String>, VaultError> {
    let Some(once) = once else { return Ok(None) };
    match once.claim(tx, entry.by(), made, entry.at())? {
        Claim::First => Ok(None),
        Claim::Again { made } => Ok(Some(made)),
        Claim::Taken => Err(taken()),
    }
}

/// The key stands for another request.
pub(super) fn taken() -> VaultError {
    VaultError::Conflict { what: TAKEN.into() }
}
