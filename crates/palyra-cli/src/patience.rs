//! Waiting for a daemon that restarts, visibly.

use std::time::Duration;

use palyra_client::{Absence, ClientError};

use crate::output::Output;

/// How long a daemon that has gone away is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

pub(crate) fn lost(out: &Output) {
    out.note(&format!("waiting for the daemon, for up to {} min…", PATIENCE.as_secs() / 60));
}

pub(crate) fn back(out: &Output) {
    out.note("the daemon is back");
}

/// Calls until there is an answer from a daemon.
pub(crate) async fn patiently<T>(
    out: &Output,
    mut call: impl AsyncFnMut() -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    let mut absence = Absence::new(PATIENCE);
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
                    lost(out);
                }
                absence.wait(error).await?;
            }
        }
    }
}
