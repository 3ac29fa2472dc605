//! Exit codes, by class of what happened.

use std::process::ExitCode;

use palyra_common::StableErrorEnvelope;

#[cfg(test)]
mod tests;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    Failed = 1,
    Usage = 2,
    NoDaemon = 3,
    NotAllowed = 4,
    NotFound = 5,
    Conflict = 6,
    Faults = 7,
    Declined = 8,
    Interrupted = 130,
}

/// For `palyra --help`.
pub(crate) const TABLE: &str = "\
Exit codes:
  0    done
  1    failed
  2    asked wrongly: an argument, a value or the configuration
  3    the daemon does not run or cannot be reached
  4    not allowed: the credential is missing, unknown, ended or too weak, or the daemon's files
       are another user's, may not be written, or may be written by others
  5    not found
  6    conflict: it is there already, in use, or was changed meanwhile
  7    a check found faults
  8    declined: a question was answered with no, and nothing was changed
  130  interrupted";

impl Exit {
    /// The class of an error. Codes of a newer daemon fall into the class of their domain.
    pub(crate) fn of(envelope: &StableErrorEnvelope) -> Self {
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
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
