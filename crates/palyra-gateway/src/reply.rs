//! The names of messages that runs send. They follow from the run, so that whoever does its work
//! again says the same once.

use palyra_common::ids::{EnvelopeId, RunId};

use crate::error::GatewayError;

#[cfg(test)]
mod tests;

/// What the names begin with. Nobody else may choose such a name.
pub const OF_RUNS: &str = "run-";

/// The length of a run's id.
const ID_CHARS: usize = 26;

/// The name of the answer of a run.
pub fn reply_envelope(run: RunId) -> Result<EnvelopeId, GatewayError> {
    named(format!("{OF_RUNS}{run}"))
}

/// The name of the message of a call.
pub(crate) fn call_envelope(run: RunId, call: &str) -> Result<EnvelopeId, GatewayError> {
    named(format!("{OF_RUNS}{run}-{call}"))
}

/// The run that a message is of, by its name.
pub fn run_of(envelope: &EnvelopeId) -> Option<RunId> {
    let name = envelope.as_str().strip_prefix(OF_RUNS)?;
    let (run, rest) = name.split_at_checked(ID_CHARS)?;
    (rest.is_empty() || rest.starts_with('-')).then(|| run.parse().ok())?
}

fn named(name: String) -> Result<EnvelopeId, GatewayError> {
    name.parse().map_err(|error| GatewayError::Invalid(format!("{error}")))
}
