//! Reading a long text piece by piece.

use crate::tool::ToolFault;

#[cfg(test)]
mod tests;

/// The shortest piece: no character is longer.
pub(super) const LEAST: u64 = 16;

/// A piece of a text, and where the next one begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page<'a> {
    pub(super) text: &'a str,
    pub(super) next: u64,
}

/// How many bytes [`page`] wants to see for a piece of `limit`.
pub(super) fn wanted(limit: u64) -> u64 {
    limit.max(LEAST) + 4
}

/// The piece of at most `limit` bytes at the beginning of `bytes`, which were read at `offset` and
/// are at least [`wanted`] unless the text ends. It begins and ends between characters.
pub(super) fn page(bytes: &[u8], offset: u64, limit: u64) -> Result<Page<'_>, ToolFault> {
    let inside = |byte: &u8| (0x80..0xc0).contains(byte);
    let most = usize::try_from(limit.max(LEAST)).unwrap_or(usize::MAX);
    let start = match offset {
        0 => 0,
        _ => bytes.iter().take(3).take_while(|byte| inside(byte)).count(),
    };
    let mut end = bytes.len().min(start.saturating_add(most));
    for _ in 0..3 {
        if bytes.get(end).is_some_and(inside) {
            end = end.saturating_sub(1).max(start);
        }
    }
    match std::str::from_utf8(&bytes[start..end]) {
        Ok(text) if !text.contains('\0') => Ok(Page { text, next: offset + end as u64 }),
        Ok(_) | Err(_) => Err(ToolFault::new("this is not UTF-8 text: only text is shown")),
    }
}

/// What is said behind a piece if it is not the last.
pub(super) fn more(next: u64, size: u64) -> Option<String> {
    let note = || format!("\n[{size} bytes in all; read on with \"offset\": {next}]");
    (next < size).then(note)
}
