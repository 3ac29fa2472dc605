//! A program that prints the key.

use std::time::Duration;

use tokio::process::Command;

use super::KeyProblem;
use super::program::{self, Complaints};
use crate::key::{self, KeyBytes};

#[cfg(test)]
mod tests;

/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Runs the command and reads the key that it prints.
pub(crate) async fn read(argv: &[String]) -> Result<KeyBytes, KeyProblem> {
    within(argv, LIMIT).await
}

async fn within(argv: &[String], limit: Duration) -> Result<KeyBytes, KeyProblem> {
    let (program, arguments) = argv.split_first().ok_or(KeyProblem::Malformed)?;
    let failed = |what: String| KeyProblem::Command { program: program.clone(), what };
    let mut command = Command::new(program);
    command.args(arguments);
    let ended = program::run(command, None, Complaints::Unheard, limit).await;
    let ended = ended.map_err(|why| failed(why.to_string()))?;
    if !ended.status.success() {
        return Err(failed(format!("ended with {}", ended.status)));
    }
    key::parse(&ended.printed)
}
