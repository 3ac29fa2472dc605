//! A terminal on which an answer appears while it is written.

use unicode_width::UnicodeWidthStr;

use crate::output::printable;

#[cfg(test)]
mod tests;

/// What of the answer stands on the screen, and how large that is.
#[derive(Debug)]
pub(super) struct Paper {
    shown: String,
    columns: usize,
    rows: usize,
    /// Whether the terminal can take back what it shows.
    erases: bool,
}

impl Paper {
    pub(super) fn new(columns: usize, rows: usize, erases: bool) -> Self {
        Self { shown: String::new(), columns: columns.max(1), rows, erases }
    }

    /// What to write so that `text` stands there.
    pub(super) fn live(&mut self, text: &str) -> String {
        let text = clean(text);
        let written = match text.strip_prefix(self.shown.as_str()) {
            Some(more) => more.to_owned(),
            None => self.erase() + &text,
        };
        self.shown = text;
        written
    }

    /// What to write so that what stands there stays, and a new line begins.
    pub(super) fn settle(&mut self) -> String {
        match std::mem::take(&mut self.shown) {
            shown if shown.is_empty() || shown.ends_with('\n') => String::new(),
            _ => "\n".to_owned(),
        }
    }

    fn erase(&self) -> String {
        let width = |line: &str| line.width().div_ceil(self.columns).max(1);
        let rows: usize = self.shown.split('\n').map(width).sum();
        // What has left the screen cannot be taken back.
        if !self.erases || rows > self.rows {
            return "\n(this was given up; the answer begins anew)\n".to_owned();
        }
        match rows {
            0 | 1 => "\r\u{1b}[J".to_owned(),
            rows => format!("\r\u{1b}[{}A\u{1b}[J", rows - 1),
        }
    }
}

/// `text` without what would command the terminal; lines stay.
fn clean(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}
