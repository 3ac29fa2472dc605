//! Running a short-lived program to its end, within a time limit.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

const POLL: Duration = Duration::from_millis(3);

/// Feeds `input` to `command` and returns what it wrote to stdout.
///
/// Fails when the program cannot be started, fails, or is not done after `limit`; it is then
/// killed. What it said on stderr is part of the error.
pub(crate) fn run(command: &mut Command, input: &str, limit: Duration) -> anyhow::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("start {program}"))?;
    let feeder = feed(child.stdin.take(), input);
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = wait(&mut child, limit).with_context(|| format!("run {program}"));
    let (stdout, stderr) = (collected(stdout), collected(stderr));
    // A program that fails early closes its stdin; its exit status tells more than the broken pipe.
    let _ = feeder.join();
    let status = status.with_context(|| format!("it said: {}", stderr.trim()))?;
    if !status.success() {
        bail!("{program} failed with {status}: {}", stderr.trim());
    }
    Ok(stdout)
}

/// Waits for `child` until `limit`, then kills and reaps it.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> anyhow::Result<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().context("look at a child process")? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            child.kill().context("kill a child process that took too long")?;
            child.wait().context("reap a child process that took too long")?;
            bail!("not done after {limit:?}, so it was killed");
        }
        thread::sleep(POLL);
    }
}

fn feed(stdin: Option<impl Write + Send + 'static>, input: &str) -> thread::JoinHandle<()> {
    let input = input.to_owned();
    thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(input.as_bytes());
        }
    })
}

fn drain(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn collected(reader: thread::JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests;
