//! Why something failed, in the words of a platform.

use palyra_common::text::strip_nul;

/// Longer than any sentence, shorter than a page.
const MAX_CHARS: usize = 1_000;

/// Why something failed, in words that can be kept: without U+0000, which no database takes, and
/// not longer than 1,000 characters, because a platform may answer with a whole page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Reason {
    fn from(words: &str) -> Self {
        Self(strip_nul(words).chars().take(MAX_CHARS).collect())
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Self::from(&*words)
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.0
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
