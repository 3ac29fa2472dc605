//! Exit codes, by class of what happened.

pub(crate) use palyra_common::error::Exit;

#[cfg(test)]
mod tests;

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
