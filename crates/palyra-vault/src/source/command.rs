//! A program that prints the key.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use zeroize::Zeroizing;

use super::KeyProblem;
use crate::key::{self, KeyBytes};

#[cfg(test)]
mod tests;

/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(10);
/// More than any key in base64 or hex with blanks around it.
const MAX_BYTES: usize = 4_096;

/// Runs the command and reads the key that it prints.
pub(crate) async fn read(argv: &[String]) -> Result<KeyBytes, KeyProblem> {
    within(argv, LIMIT).await
}

async fn within(argv: &[String], limit: Duration) -> Result<KeyBytes, KeyProblem> {
    let (program, arguments) = argv.split_first().ok_or(KeyProblem::Malformed)?;
    let failed = |what: String| KeyProblem::Command { program: program.clone(), what };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // What a failing program says may hold what it failed on.
        .stderr(Stdio::null())
        // Its own group, so that what it has started ends with it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    let outcome = tokio::time::timeout(limit, listen(&mut child)).await;
    if !matches!(outcome, Ok(Ok(_))) {
        end(&child);
    }
    let text = match outcome {
        Ok(Ok(text)) => text,
        Ok(Err(what)) => return Err(failed(what)),
        Err(_) => return Err(failed(format!("took longer than {} s", limit.as_secs_f64()))),
    };
    key::parse(&text)
}

async fn listen(child: &mut Child) -> Result<Zeroizing<String>, String> {
    let stdout = child.stdout.take().ok_or("has no output")?;
    let text = bounded(stdout).await?;
    let status = child.wait().await.map_err(|error| format!("cannot be waited for: {error}"))?;
    if !status.success() {
        return Err(format!("ended with {status}"));
    }
    Ok(text)
}

async fn bounded(stdout: impl AsyncRead + Unpin) -> Result<Zeroizing<String>, String> {
    // At its full size from the start: a buffer that grows leaves copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES + 1));
    let mut stdout = stdout.take(MAX_BYTES as u64 + 1);
    while stdout.limit() > 0 {
        let read = stdout.read_buf(&mut *bytes).await;
        if read.map_err(|error| format!("cannot be read: {error}"))? == 0 {
            break;
        }
    }
    if bytes.len() > MAX_BYTES {
        return Err(format!("printed more than {MAX_BYTES} bytes"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| "printed something that is not text")?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Kills the process group of a child that has not been waited for: until then its id is its own.
fn end(child: &Child) {
    let id =
        child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(id) = id {
        // It may have ended by itself.
        let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
    }
}
