//! Running a program with bounded time and output.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use zeroize::Zeroizing;

/// More than any key in base64 or hex with blanks around it, and than any complaint.
const MAX_BYTES: usize = 4_096;

/// What becomes of what a program says on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Complaints {
    /// What a failing program says may hold what it failed on.
    Unheard,
    Heard,
}

/// A program that has ended by itself.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) printed: Zeroizing<String>,
    pub(crate) complaint: Zeroizing<String>,
}

/// Why there is no such end, to be put after the name of the program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error("cannot be started: {0}")]
    Start(#[source] std::io::Error),
    #[error("took longer than {} s", .0.as_secs_f64())]
    Slow(Duration),
    #[error("{0}")]
    Output(String),
}

/// Runs it with `input`, and ends it with everything that it has started if it takes too long, prints
/// too much, or nobody waits for it any more.
pub(crate) async fn run(
    mut command: Command,
    input: Option<Zeroizing<String>>,
    complaints: Complaints,
    limit: Duration,
) -> Result<Ended, Failed> {
    let piped = |wanted: bool| if wanted { Stdio::piped() } else { Stdio::null() };
    let child = command
        .stdin(piped(input.is_some()))
        .stdout(Stdio::piped())
        .stderr(piped(complaints == Complaints::Heard))
        // Its own group, so that what it has started ends with it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(Failed::Start)?;
    let mut group = Group(child);
    let outcome = tokio::time::timeout(limit, talk(&mut group.0, input)).await;
    outcome.map_err(|_| Failed::Slow(limit))?.map_err(Failed::Output)
}

async fn talk(child: &mut Child, input: Option<Zeroizing<String>>) -> Result<Ended, String> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let tell = async {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // A program that does not listen says by its status whether that was right.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        Ok(())
    };
    let (printed, complaint, ()) = tokio::try_join!(bounded(stdout), bounded(stderr), tell)?;
    let status = child.wait().await.map_err(|error| format!("cannot be waited for: {error}"))?;
    Ok(Ended { status, printed, complaint })
}

async fn bounded(stream: Option<impl AsyncRead + Unpin>) -> Result<Zeroizing<String>, String> {
    // At its full size from the start: a buffer that grows leaves copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES + 1));
    let Some(stream) = stream else { return Ok(Zeroizing::default()) };
    let mut stream = stream.take(MAX_BYTES as u64 + 1);
    while stream.limit() > 0 {
        let read = stream.read_buf(&mut *bytes).await;
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

/// A program and what it has started, which end with this unless it has ended by itself.
struct Group(Child);

impl Drop for Group {
    /// Of a child that was waited for there is no id: until then it is its own.
    fn drop(&mut self) {
        let id = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(id) = id.and_then(rustix::process::Pid::from_raw) {
            // It may have ended by itself.
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}
