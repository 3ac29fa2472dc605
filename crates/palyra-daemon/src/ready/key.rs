//! How the master key is, as far as that can be told in a moment.

use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_vault::{KeyId, KeyState, VaultError};

use super::PATIENCE;
use crate::app::App;

/// What is said where nobody can tell whether there are secrets.
const NOT_KNOWN: &str = "the database does not answer, and this daemon has no master key in memory: \
                         whether there are secrets is not known";

/// What was seen of the key.
#[derive(Debug)]
pub(crate) enum Key {
    Found(KeyState),
    /// It is in the memory of this daemon, and `why` it is not known whether it is anywhere else.
    Doubtful {
        id: KeyId,
        why: String,
    },
    /// Secrets cannot be used.
    Unusable(StableErrorEnvelope),
}

/// Looks at it, unless its source takes too long: it may be a program that waits, a keyring that asks
/// somebody, or a disk that does not answer.
pub(crate) async fn look(app: &App) -> Key {
    match tokio::time::timeout(PATIENCE, app.vault.check()).await {
        Ok(Ok(state)) => Key::Found(state),
        // What only this process may still have matters most then.
        Ok(Err(VaultError::Storage(_))) => without_database(app).await,
        Ok(Err(error)) => Key::Unusable(error.envelope()),
        Err(_) => slow(app),
    }
}

/// The same while the database does not answer: of the key in memory.
pub(crate) async fn without_database(app: &App) -> Key {
    match tokio::time::timeout(PATIENCE, app.vault.check_held()).await {
        Ok(Ok(Some(state))) => Key::Found(state),
        Ok(Ok(None)) => {
            Key::Unusable(StableErrorEnvelope::new(ErrorCode::StorageUnavailable, NOT_KNOWN))
        }
        Ok(Err(error)) => Key::Unusable(error.envelope()),
        Err(_) => slow(app),
    }
}

fn slow(app: &App) -> Key {
    let why = format!("{} did not answer within {} s", app.vault.key_source(), PATIENCE.as_secs());
    match app.vault.held_id() {
        Some(id) => Key::Doubtful { id, why },
        None => Key::Unusable(StableErrorEnvelope::new(ErrorCode::VaultNoKey, why)),
    }
}
