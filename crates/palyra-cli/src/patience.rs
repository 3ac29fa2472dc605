//! Waiting for a daemon that restarts, visibly.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use palyra_client::{Absence, ClientError};
use palyra_common::ids::RunId;

use crate::failure::Failure;
use crate::output::Output;
use crate::when;

/// How long a daemon that has gone away is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

pub(crate) fn lost(out: &Output, patience: Duration) {
    let time = match patience.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    };
    out.note(&format!("waiting for the daemon, for up to {time}…"));
}

pub(crate) fn back(out: &Output) {
    out.note("the daemon is back");
}

/// A name that nothing else has: what is asked for under it is done once, however often that is.
pub(crate) fn name<T: FromStr<Err: Display>>(what: &str) -> Result<T, Failure> {
    let mut entropy = [0; 16];
    getrandom::fill(&mut entropy)
        .map_err(|error| Failure::machine(format!("no randomness: {error}")))?;
    let id = RunId::from_parts(when::now(), u128::from_le_bytes(entropy));
    format!("{what}-{id}").parse().map_err(|error| Failure::machine(format!("no name: {error}")))
}

/// Calls until there is an answer from a daemon. What changes something has a [`name`], because nobody
/// knows what a daemon that went away has done; and the daemon was there before, because one that
/// never was is not waited for.
pub(crate) async fn patiently<T>(
    out: &Output,
    call: impl AsyncFnMut() -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    patiently_for(PATIENCE, out, call).await
}

/// As [`patiently`], with other patience.
pub(crate) async fn patiently_for<T>(
    patience: Duration,
    out: &Output,
    mut call: impl AsyncFnMut() -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    let mut absence = Absence::new(patience);
    loop {
        match call().await {
            Ok(done) => {
                if absence.lasts() {
                    back(out);
                }
                return Ok(done);
            }
            Err(error) => {
                if error.is_absence() && !absence.lasts() {
                    lost(out, patience);
                }
                absence.wait(error).await?;
            }
        }
    }
}
