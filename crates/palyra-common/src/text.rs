//! What is done to text as it enters the system.

use std::borrow::Cow;

#[cfg(test)]
mod tests;

/// Removes every U+0000 from `text`.
///
/// Postgres refuses the character in text columns while SQLite stores it, so text that keeps it
/// would be accepted by one engine and rejected by the other.
pub fn strip_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}
