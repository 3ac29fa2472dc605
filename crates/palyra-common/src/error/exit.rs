//! How programs end, by class of what happened.

use super::StableErrorEnvelope;

#[cfg(test)]
mod tests;

/// How a program ended: the same for `palyra` and `palyrad`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It is done.
    Ok = 0,
    /// It failed.
    Failed = 1,
    /// It was asked for wrongly.
    Usage = 2,
    /// The daemon does not run or cannot be reached.
    NoDaemon = 3,
    /// It is not allowed.
    NotAllowed = 4,
    /// It is not there.
    NotFound = 5,
    /// It is there already, in use, or was changed meanwhile.
    Conflict = 6,
    /// A check found faults.
    Faults = 7,
    /// A question was answered with no.
    Declined = 8,
    /// It was interrupted.
    Interrupted = 130,
}

impl Exit {
    /// The class of an error. Codes of a newer daemon fall into the class of their domain.
    pub fn of(envelope: &StableErrorEnvelope) -> Self {
        let code = envelope.code();
        let (domain, reason) = code.split_once('/').unwrap_or((code, ""));
        match (domain, reason) {
            ("client", "daemon_not_running" | "unreachable") => Self::NoDaemon,
            ("client", "declined") => Self::Declined,
            ("client", "interrupted") => Self::Interrupted,
            ("auth", _)
            | ("client", "not_permitted")
            | ("storage", "read_only")
            | ("storage" | "config", "open_to_others") => Self::NotAllowed,
            (_, "not_found") | ("models", "not_configured") => Self::NotFound,
            ("common", "conflict")
            | ("storage", "constraint" | "locked")
            | ("backup", "target_in_use")
            | ("daemon", "address_in_use") => Self::Conflict,
            ("config", _)
            | ("common", "invalid_input")
            | ("daemon", "address_refused")
            | ("http", "malformed" | "too_large")
            | ("vault", "too_large") => Self::Usage,
            ("journal", "broken_chain") | ("backup", "invalid") => Self::Faults,
            _ => Self::Failed,
        }
    }

    /// What the system is told.
    pub const fn code(self) -> u8 {
        self as u8
    }
}
