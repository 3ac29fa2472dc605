//! What comes before the history of a conversation that goes on from another one. Nothing of it is copied:
//! the runs of the other one are read, as far as they were shown there at the time.

use palyra_common::ids::SessionId;
use palyra_storage::{StorageError, Tx};

use crate::store::sessions::{self, Fork, Session};
use crate::store::tape::{self, From, Spoken};

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

/// What was said between two places of a conversation, which goes on from another one if `is_fork`: in it
/// and in those before it, whose places come before its own.
pub(crate) fn spoken_between(
    tx: &mut Tx<'_>,
    (session, is_fork): (SessionId, bool),
    between: (i64, i64),
    (most_runs, most_events): (u32, u32),
    from: From,
) -> Result<Vec<Spoken>, StorageError> {
    let mut parts = vec![None];
    // It may have been reset since the run was taken.
    if is_fork
        && let Some(own) = sessions::one(tx, session)?
        && own.shown.is_all()
    {
        parts.extend(inherited(tx, &own)?.into_iter().map(Some));
    }
    if from == From::Oldest {
        parts.reverse();
    }
    let mut all: Vec<Spoken> = Vec::new();
    for part in parts {
        let events: usize = all.iter().map(|of| of.entries.len()).sum();
        let left = |most: u32, of: usize| most.saturating_sub(u32::try_from(of).unwrap_or(most));
        let left = (left(most_runs, all.len()), left(most_events, events));
        if left.0 == 0 || left.1 == 0 {
            break;
        }
        all.extend(match part {
            None => tape::spoken_between(tx, session, between, left, from)?,
            Some(part) => tape::spoken_in(tx, part, between, left, from)?,
        });
    }
    Ok(all)
}
