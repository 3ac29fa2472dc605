//! What a process prints, collected while it runs.

use std::collections::VecDeque;
use std::fmt::Write;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Beyond this the oldest lines are dropped.
const KEPT_BYTES: usize = 64 << 20;
/// A longer line is kept in pieces.
const LONGEST_LINE: u64 = 64 << 10;

/// Which of the two streams a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A printed line, without its newline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it was printed.
    pub stream: Stream,
    /// What was printed; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// Why a line did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Closed,
    TimedOut,
}

/// The collected lines of one process and its successors after restarts.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    kept_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Line>,
    bytes: usize,
    /// The number of lines dropped: the position of the first kept line.
    dropped: usize,
    /// How many streams are still open.
    open: usize,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self::keeping(KEPT_BYTES)
    }

    fn keeping(kept_bytes: usize) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { shared: Arc::new(Shared { state, changed, kept_bytes }) }
    }

    /// Collects `source` on a thread of its own, which ends with the stream.
    pub(crate) fn collect(&self, stream: Stream, source: impl Read + Send + 'static) {
        self.shared.lock().open += 1;
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut bytes = Vec::new();
            while let Ok(1..) = source.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes) {
                let text = String::from_utf8_lossy(&bytes);
                let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
                shared.push(Line { stream, text });
                bytes.clear();
            }
            shared.lock().open -= 1;
            shared.changed.notify_all();
        });
    }

    /// The position after the last line so far.
    pub(crate) fn end(&self) -> usize {
        self.shared.lock().end()
    }

    /// The first answer that `look` gives to a line at or after position `from`.
    pub(crate) fn find<T>(
        &self,
        from: usize,
        limit: Duration,
        mut look: impl FnMut(&Line) -> Option<T>,
    ) -> Result<T, Missing> {
        let deadline = Instant::now() + limit;
        let mut next = from;
        let mut state = self.shared.lock();
        loop {
            let seen = next.saturating_sub(state.dropped);
            if let Some(found) =
                state.lines.range(seen.min(state.lines.len())..).find_map(&mut look)
            {
                return Ok(found);
            }
            next = state.end();
            if state.open == 0 {
                return Err(Missing::Closed);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Missing::TimedOut);
            }
            let woken = self.shared.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until both streams have ended, so that everything printed is here.
    pub(crate) fn wait_closed(&self, limit: Duration) -> bool {
        let end = self.end();
        self.find(end, limit, |_| None::<()>) == Err(Missing::Closed)
    }

    /// All kept lines, and how many were dropped before them.
    pub(crate) fn lines(&self) -> (usize, Vec<Line>) {
        let state = self.shared.lock();
        (state.dropped, state.lines.iter().cloned().collect())
    }

    /// All kept lines as one text, for a person to read.
    pub(crate) fn text(&self) -> String {
        let (dropped, lines) = self.lines();
        let mut text = String::new();
        if dropped > 0 {
            let _ = writeln!(text, "… {dropped} lines dropped …");
        }
        for line in lines {
            let mark = match line.stream {
                Stream::Stdout => "out",
                Stream::Stderr => "err",
            };
            let _ = writeln!(text, "{mark} | {}", line.text);
        }
        text
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: Line) {
        let mut state = self.lock();
        state.bytes += line.text.len();
        state.lines.push_back(line);
        while state.bytes > self.kept_bytes
            && let Some(oldest) = state.lines.pop_front()
        {
            state.bytes -= oldest.text.len();
            state.dropped += 1;
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl State {
    fn end(&self) -> usize {
        self.dropped + self.lines.len()
    }
}

#[cfg(test)]
mod tests;
