//! What a change is, for whoever decides about it.

use std::fmt::Write as _;

use crate::tools::show::cut;

#[cfg(test)]
mod tests;

/// So many lines are shown around a change.
const AROUND: usize = 2;
/// So many that go, and so many that come.
const MAX_LINES: usize = 20;
const LINE_CHARS: usize = 160;

/// The lines in which two texts differ, from the first to the last, as one piece of a unified diff.
/// Long ones are cut, and it says so.
pub(super) fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (lines(old), lines(new));
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[same..], &new[same..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let gone = &old_rest[..old_rest.len() - tail];
    let come = &new_rest[..new_rest.len() - tail];
    if gone.is_empty() && come.is_empty() {
        return String::new();
    }
    let before = same.min(AROUND);
    let after = tail.min(AROUND);
    let mut shown = String::new();
    let (from, count) = (same - before + 1, before + after);
    let (out, into) = (count + gone.len(), count + come.len());
    writeln!(shown, "@@ -{from},{out} +{from},{into} @@").unwrap_or_default();
    put(&mut shown, ' ', &old[same - before..same]);
    put(&mut shown, '-', gone);
    put(&mut shown, '+', come);
    put(&mut shown, ' ', &old_rest[old_rest.len() - tail..][..after]);
    shown
}

/// With their ends: that a last line has none is a difference too.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn put(shown: &mut String, sign: char, lines: &[&str]) {
    for line in lines.iter().take(MAX_LINES) {
        let (text, end) = match line.strip_suffix('\n') {
            Some(text) => (text, ""),
            None => (*line, "  [no line end]"),
        };
        writeln!(shown, "{sign}{}{end}", cut(text, LINE_CHARS)).unwrap_or_default();
    }
    if lines.len() > MAX_LINES {
        let more = lines.len() - MAX_LINES;
        writeln!(shown, "{sign}[{more} more lines]").unwrap_or_default();
    }
}
