//! What comes before the history of a conversation that goes on from another one. Nothing of it is copied:
//! the runs of the other one are read, as far as they were shown there at the time.

use palyra_storage::{StorageError, Tx};

use crate::store::sessions::{self, Fork, Session};

/// As many runs as a model is shown at most, and each part has one.
const MOST_PARTS: usize = 64;

/// The parts of other conversations, the newest first.
pub(crate) fn inherited(tx: &mut Tx<'_>, session: &Session) -> Result<Vec<Fork>, StorageError> {
    let (mut parts, mut next) = (Vec::new(), session.fork);
    while let Some(part) = next
        && parts.len() < MOST_PARTS
    {
        parts.push(part);
        next = match part.shown.is_all() {
            true => sessions::one(tx, part.from)?.and_then(|session| session.fork),
            false => None,
        };
    }
    Ok(parts)
}
