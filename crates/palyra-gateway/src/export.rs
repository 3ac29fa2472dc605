//! A tape that leaves its database: JSON lines, the first of which says what it is, without the values
//! of secrets.

#[cfg(test)]
mod tests;

use std::io::{BufRead, Read};

use palyra_common::api::{ExportedEvent, Replayed, TapeHead};
use palyra_common::tape::{TapeEntry, TapeEvent};
use palyra_common::text::each_in;
use palyra_connector_core::Outgoing;

use crate::replay::{Replay, Texts};

/// The longest line: every call of an answer with the longest arguments that are taken, as JSON.
const MOST_BYTES: u64 = 16 << 20;

/// Why a file is not replayed.
#[derive(Debug, thiserror::Error)]
pub enum TapeFileError {
    /// It cannot be read.
    #[error("it cannot be read")]
    Unreadable(#[from] std::io::Error),
    /// It does not begin as an exported tape does.
    #[error("it does not begin as a tape does that `palyra runs export` has written")]
    NotATape,
    /// Its form is not known here.
    #[error("its form is {0}, and this version knows {known}", known = TapeHead::VERSION)]
    OtherVersion(u32),
    /// A line is not an event, or not the next one.
    #[error("line {line}: {what}")]
    Line {
        /// Which, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
}

/// An event without the values of secrets.
pub fn exported(entry: TapeEntry, outgoing: &dyn Outgoing) -> ExportedEvent {
    let mut redacted = false;
    let mut entry = entry;
    each_text(&mut entry.event, &mut |text| {
        let clean = outgoing.clean(text);
        redacted |= clean != *text;
        *text = clean;
    });
    // A digest of a short secret could be guessed from.
    if let (true, TapeEvent::ToolProposed(proposed)) = (redacted, &mut entry.event) {
        proposed.payload_sha256.clear();
    }
    ExportedEvent { entry, redacted }
}

/// Replays an exported tape, of which no more than a line is held at once.
pub fn replay_file(mut file: impl BufRead) -> Result<Replayed, TapeFileError> {
    let head = line(&mut file, 1)?.ok_or(TapeFileError::NotATape)?;
    let head: TapeHead = serde_json::from_slice(&head).map_err(|_| TapeFileError::NotATape)?;
    if head.palyra_tape != TapeHead::VERSION {
        return Err(TapeFileError::OtherVersion(head.palyra_tape));
    }
    let (mut replay, mut last) = (Replay::new(head.run), 0);
    for number in 2.. {
        let Some(text) = line(&mut file, number)? else { break };
        let wrong = |what: String| TapeFileError::Line { line: number, what };
        let read: Result<ExportedEvent, _> = serde_json::from_slice(&text);
        let event = read.map_err(|error| wrong(format!("it is not an event: {error}")))?;
        if event.entry.seq <= last {
            return Err(wrong("its number is not larger than the one before".to_owned()));
        }
        last = event.entry.seq;
        let texts = if event.redacted { Texts::Redacted } else { Texts::Whole };
        if !replay.read(&event.entry, texts) {
            break;
        }
    }
    Ok(replay.outcome())
}

/// The next line that is not empty.
fn line(file: &mut impl BufRead, number: u64) -> Result<Option<Vec<u8>>, TapeFileError> {
    let mut text = Vec::new();
    file.by_ref().take(MOST_BYTES).read_until(b'\n', &mut text)?;
    if text.len() as u64 == MOST_BYTES {
        let what = format!("it has more than {MOST_BYTES} bytes");
        return Err(TapeFileError::Line { line: number, what });
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Every text that somebody has written.
fn each_text(event: &mut TapeEvent, change: &mut dyn FnMut(&mut String)) {
    match event {
        TapeEvent::RunPhase(moved) => moved.reason.iter_mut().for_each(change),
        TapeEvent::ApprovalDecided(decided) => decided.reason.iter_mut().for_each(change),
        TapeEvent::InputMessage(input) => {
            change(&mut input.text);
            change(&mut input.sender);
        }
        TapeEvent::InputBrought(brought) => brought.each_text(change),
        TapeEvent::ModelDelta(delta) => change(&mut delta.text),
        TapeEvent::ModelAbandoned(lost) => {
            change(&mut lost.reason);
            lost.said.iter_mut().for_each(|said| change(&mut said.text));
        }
        TapeEvent::ModelCompleted(answer) => {
            change(&mut answer.text);
            answer.passed_over.iter_mut().for_each(&mut *change);
            answer.calls.iter_mut().for_each(|call| change(&mut call.arguments));
        }
        TapeEvent::ToolProposed(proposed) => {
            change(&mut proposed.arguments);
            change(&mut proposed.summary);
            proposed.bindings.iter_mut().for_each(|binding| change(&mut binding.name));
        }
        TapeEvent::ApprovalRequested(asked) => change(&mut asked.summary),
        TapeEvent::ToolCompleted(done) => change(&mut done.content),
        TapeEvent::A2uiUpdate(shown) => each_in(&mut shown.message, change),
        TapeEvent::AuxTask(task) => task.detail.iter_mut().for_each(change),
        TapeEvent::RunFinished(finished) => {
            change(&mut finished.answer);
            finished.detail.iter_mut().chain(&mut finished.hint).for_each(change);
        }
        TapeEvent::RunQueued(_)
        | TapeEvent::ModelRequested(_)
        | TapeEvent::ToolGated(_)
        | TapeEvent::ToolStarted(_)
        | TapeEvent::DeliveryEnqueued(_)
        | TapeEvent::DeliverySettled(_) => {}
    }
}
