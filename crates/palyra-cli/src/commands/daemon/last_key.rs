//! The last copy of the master key, which would go with the process that has it.

use palyra_common::ErrorCode;
use palyra_common::api::Status;

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

/// The same of a daemon that has answered.
pub(super) fn respect_of(status: &Status, otherwise: &str) -> Outcome {
    let problem = status.vault.problem.as_ref();
    let only_in_memory = |code| code == Some(ErrorCode::VaultKeyOnlyInMemory);
    match problem.filter(|problem| only_in_memory(problem.known_code())) {
        None => Ok(()),
        Some(problem) => Err(Failure::new(
            ErrorCode::VaultKeyOnlyInMemory,
            format!(
                "nothing was stopped, because all secrets would be lost: {}. {otherwise}",
                problem.message()
            ),
        )),
    }
}
