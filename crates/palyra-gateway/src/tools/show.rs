//! Text of others where a human, or a line of our own, must not be misled by it.

use std::fmt::Write as _;

#[cfg(test)]
mod tests;

/// Whether a character is not seen, or changes how those around it are seen.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// `text` in one line, with what cannot be seen written out.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => shown.push_str("    "),
            '\n' => shown.push('⏎'),
            c if is_hidden(c) => write!(shown, "\\u{{{:x}}}", u32::from(c)).unwrap_or_default(),
            c => shown.push(c),
        }
    }
    shown
}

/// The first `most` characters of [`plain`], with a sign where something is missing.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", plain(&text[..at])),
        None => plain(text),
    }
}
