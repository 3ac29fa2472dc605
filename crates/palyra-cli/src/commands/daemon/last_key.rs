//! The last copy of the master key, which would go with the process that has it.

use palyra_common::ErrorCode;
use palyra_common::api::{Status, VaultStatus};

use super::running::Seen;
use crate::failure::{Failure, Outcome};

/// Refuses to stop a daemon that alone still has the master key: nobody could read its secrets any
/// more. `otherwise` says what can be done instead, beside what the code says. A daemon that does
/// not answer cannot be asked.
pub(super) fn respect(seen: &Seen, otherwise: &str) -> Outcome {
    match seen {
        Seen::Answers(status) => respect_of(status, otherwise),
        Seen::Silent(_) | Seen::Nobody => Ok(()),
    }
}

/// The same of a daemon that has answered. One that cannot tell may have it.
pub(super) fn respect_of(status: &Status, otherwise: &str) -> Outcome {
    let Some(why) = at_risk(status) else { return Ok(()) };
    let told = format!("nothing was stopped, because {why}. {otherwise}");
    Err(Failure::new(ErrorCode::VaultKeyOnlyInMemory, told))
}

/// Why secrets may be lost with the daemon. None: its key is elsewhere too, or it has none.
fn at_risk(status: &Status) -> Option<String> {
    let VaultStatus { key_id, doubt, problem, .. } = &status.vault;
    let doubtful = |why| Some(format!("all secrets may be lost with it: {why}"));
    if let Some(doubt) = doubt {
        return doubtful(doubt.as_str());
    }
    match (problem, key_id) {
        (Some(problem), _) if problem.known_code() == Some(ErrorCode::VaultKeyOnlyInMemory) => {
            Some(format!("all secrets would be lost: {}", problem.message()))
        }
        (Some(_), _) | (None, Some(_)) => None,
        // Not that there is no secret yet: an older daemon looks at its key only beside its database.
        (None, None) if status.waiting_for.iter().any(|part| part == "database") => {
            doubtful("while its database is away it does not say how its key is")
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
