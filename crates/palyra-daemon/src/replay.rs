//! `palyrad replay-tape`: an exported tape, replayed without its database.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use palyra_common::error::Exit;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_gateway::{TapeFileError, replay_file};

use crate::failure::Failure;

/// Replays the tape in `file`, and prints what came of it as JSON.
pub(crate) fn run(file: &Path) -> Result<ExitCode, Failure> {
    let unreadable = |error| Failure::Unreadable { path: file.to_owned(), error };
    let opened = File::open(file).map_err(unreadable)?;
    let replayed = replay_file(BufReader::new(opened)).map_err(|error| match error {
        TapeFileError::Unreadable(error) => unreadable(error),
        TapeFileError::NotATape | TapeFileError::OtherVersion(_) | TapeFileError::Line { .. } => {
            let what = format!("{}: {error}", file.display());
            Failure::Refused(StableErrorEnvelope::new(ErrorCode::CommonInvalidInput, what))
        }
    })?;
    let report = serde_json::to_string_pretty(&replayed);
    crate::print(&(report.map_err(|error| Failure::Startup(error.into()))? + "\n"));
    let exit = if replayed.same { Exit::Ok } else { Exit::Faults };
    Ok(exit.code().into())
}
