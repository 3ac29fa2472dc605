//! Questions to a person.

use std::io::{BufRead, IsTerminal, Read};
use std::os::fd::AsFd;

use palyra_common::ErrorCode;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use crate::failure::{Failure, Outcome};
use crate::output::Output;

#[cfg(test)]
mod tests;

/// What Ctrl-C and Ctrl-D send to a terminal that does not act on them.
const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
const CTRL_U: u8 = 0x15;

const SEVERAL_LINES: &str = "the value has several lines, and a prompt takes one; nothing was changed; \
                             pipe it in, as in `palyra secrets set NAME < file`";

/// A secret: from a hidden prompt where standard input is a terminal, otherwise all of standard
/// input without one newline at its end.
pub(crate) fn secret(out: &Output, prompt: &str, limit: usize) -> Result<String, Failure> {
    checked(answer(out, prompt, limit)?, limit)
}

/// A passphrase that is chosen now: on a terminal it is typed twice. Piped in, it is what the daemon
/// takes from a file with the same content.
pub(crate) fn new_passphrase(out: &Output, prompt: &str, limit: usize) -> Result<String, Failure> {
    let mut first = answer(out, prompt, limit)?;
    // Some editors end a line with both.
    if first.ends_with('\r') {
        first.pop();
    }
    let first = checked(first, limit)?;
    if std::io::stdin().is_terminal() && hidden(out, "Again: ")? != first {
        return Err(Failure::asked("the two are not the same; nothing was changed"));
    }
    Ok(first)
}

fn answer(out: &Output, prompt: &str, limit: usize) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        if out.is_json() {
            return Err(Failure::asked("with --json nobody is asked; pipe the value in"));
        }
        return hidden(out, prompt);
    }
    let mut bytes = Vec::new();
    // Three bytes more than allowed: one that is too much, and the end of a line.
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(3);
    let read = stdin.lock().take(most).read_to_end(&mut bytes);
    read.map_err(|error| Failure::machine(format!("standard input: {error}")))?;
    trimmed(bytes)
}

fn checked(text: String, limit: usize) -> Result<String, Failure> {
    if text.is_empty() {
        return Err(Failure::asked("the value is empty; type it at the prompt, or pipe it in"));
    }
    if text.len() > limit {
        return Err(Failure::asked(format!("the value is larger than {limit} bytes")));
    }
    Ok(text)
}

fn trimmed(mut bytes: Vec<u8>) -> Result<String, Failure> {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    // Not the bytes themselves: they are the secret.
    String::from_utf8(bytes).map_err(|_| Failure::asked("the value is not UTF-8 text"))
}

fn hidden(out: &Output, prompt: &str) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    let silence = Silence::begin(stdin.as_fd().try_clone_to_owned())?;
    out.tell(prompt);
    let line = only_line(&mut stdin.lock(), || silence.expect_no_more());
    drop(silence);
    out.tell("\n");
    line
}

/// The line that is typed, unless another one follows. What follows is read as well, so that nothing
/// of a secret reaches the shell. Empty lines are no part of what was copied.
fn only_line(
    keys: &mut impl BufRead,
    expect_no_more: impl FnOnce() -> Result<(), Failure>,
) -> Result<String, Failure> {
    let line = read_line(keys.by_ref().bytes())?;
    expect_no_more()?;
    let mut alone = true;
    for byte in keys.bytes() {
        alone &= matches!(byte.map_err(terminal_failed)?, b'\r' | b'\n');
    }
    if alone { Ok(line) } else { Err(Failure::asked(SEVERAL_LINES)) }
}

fn terminal_failed(error: impl std::fmt::Display) -> Failure {
    Failure::machine(format!("the terminal: {error}"))
}

/// A line as it is typed, with the keys that correct it.
fn read_line(bytes: impl Iterator<Item = std::io::Result<u8>>) -> Result<String, Failure> {
    let mut typed = Vec::new();
    for byte in bytes {
        let byte = byte.map_err(terminal_failed)?;
        match byte {
            b'\r' | b'\n' => return trimmed(typed),
            CTRL_C => return Err(Failure::Interrupted),
            CTRL_D if typed.is_empty() => return Err(Failure::Interrupted),
            CTRL_D => return trimmed(typed),
            CTRL_U => typed.clear(),
            0x08 | 0x7f => {
                // A character of UTF-8 goes as a whole.
                while typed.pop().is_some_and(|last| last & 0b1100_0000 == 0b1000_0000) {}
            }
            _ => typed.push(byte),
        }
    }
    trimmed(typed)
}

/// A terminal that shows nothing and hands over every key, also Ctrl-C, so that it is always put
/// back as it was.
struct Silence {
    terminal: std::os::fd::OwnedFd,
    before: Termios,
}

impl Silence {
    fn begin(terminal: std::io::Result<std::os::fd::OwnedFd>) -> Result<Self, Failure> {
        let terminal = terminal.map_err(terminal_failed)?;
        let before = tcgetattr(&terminal).map_err(terminal_failed)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Now, &silent).map_err(terminal_failed)?;
        Ok(Self { terminal, before })
    }

    /// From here on a read waits for a tenth of a second: what is pasted can arrive in pieces.
    fn expect_no_more(&self) -> Result<(), Failure> {
        let mut silent = tcgetattr(&self.terminal).map_err(terminal_failed)?;
        silent.special_codes[SpecialCodeIndex::VMIN] = 0;
        silent.special_codes[SpecialCodeIndex::VTIME] = 1;
        tcsetattr(&self.terminal, OptionalActions::Now, &silent).map_err(terminal_failed)
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // What was not read does not reach the shell. There is no other terminal to put back.
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}

/// Whether a person agrees. Without a terminal nobody can be asked, and `--yes` must say so.
pub(crate) fn confirm(out: &Output, question: &str, yes: bool) -> Outcome {
    if yes {
        return Ok(());
    }
    let stdin = std::io::stdin();
    // A program that reads JSON cannot answer.
    if out.is_json() || !stdin.is_terminal() {
        return Err(Failure::asked(format!(
            "{question} Nobody can be asked here; add --yes if that is what you want"
        )));
    }
    out.tell(&format!("{question} [y/N] "));
    let mut answer = String::new();
    let read = stdin.lock().take(64).read_line(&mut answer);
    read.map_err(|error| Failure::machine(format!("standard input: {error}")))?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => {
            let what = "nothing was changed, because the answer was no";
            Err(Failure::new(ErrorCode::ClientDeclined, what))
        }
    }
}
