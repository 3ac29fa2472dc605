//! What somebody types, while other things happen.

use std::io::{BufRead, Read};

use tokio::sync::mpsc::{Receiver, channel};

/// More than this is no message.
const LINE_BYTES: u64 = 1 << 20;
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
            loop {
                let mut line = String::new();
                let read = std::io::stdin().lock().take(LINE_BYTES).read_line(&mut line);
                match read {
                    Ok(1..) if sender.blocking_send(line).is_ok() => {}
                    Ok(_) | Err(_) => return,
                }
            }
        });
        Self { lines, has_ended: false }
    }

    /// The next line without its end; none after the last. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<String> {
        let line = self.lines.recv().await;
        self.has_ended = line.is_none();
        line.map(|line| line.trim_end_matches(['\n', '\r']).to_owned())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }
}
