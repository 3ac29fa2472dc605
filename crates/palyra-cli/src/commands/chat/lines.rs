//! What somebody types, while other things happen.

#[cfg(test)]
mod tests;

use std::io::BufRead;

use tokio::sync::mpsc::{Receiver, channel};

/// As much of a line is kept: more than a message may have, so that it is refused as too long.
const LINE_BYTES: usize = 1 << 20;
/// Lines that are typed ahead.
const AHEAD: usize = 64;

/// The lines of standard input. A thread of its own reads them, because a terminal cannot be asked
/// whether there will be one; it ends with the program.
pub(super) struct Lines {
    lines: Receiver<String>,
    has_ended: bool,
}

impl Lines {
    pub(super) fn new() -> Self {
        let (sender, lines) = channel(AHEAD);
        std::thread::spawn(move || {
            while let Ok(Some(line)) = read_line(&mut std::io::stdin().lock()) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines, has_ended: false }
    }

    /// The next line without its end; none after the last. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<String> {
        let line = self.lines.recv().await;
        self.has_ended = line.is_none();
        line
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }
}

/// The next line without its end; nothing after the last. Of a longer one than is kept the rest is
/// passed over: it is no line of its own. What is no text in it is replaced, as terminals do.
fn read_line(from: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut has_begun = false;
    loop {
        let piece = from.fill_buf()?;
        if piece.is_empty() && !has_begun {
            return Ok(None);
        }
        has_begun = true;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let ends = end.is_some() || piece.is_empty();
        let (kept, used) = (end.unwrap_or(piece.len()), end.map_or(piece.len(), |end| end + 1));
        let room = LINE_BYTES.saturating_sub(line.len());
        line.extend(piece.iter().take(kept.min(room)));
        from.consume(used);
        if ends {
            let text = String::from_utf8_lossy(&line);
            return Ok(Some(text.trim_end_matches('\r').to_owned()));
        }
    }
}
