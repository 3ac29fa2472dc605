//! Why something failed, in the words of a platform.

use palyra_common::text::strip_nul;

use crate::Outgoing;

/// Longer than any sentence, shorter than a page.
const MAX_CHARS: usize = 1_000;

/// Why something failed, in words that can be kept: without U+0000, which no database takes, and
/// not longer than 1,000 characters, because a platform may answer with a whole page.
///
/// What a platform says may repeat what it was sent, a credential as well. It is cleaned as a whole
/// where it comes in: of a secret across the cut, what is left would not show what it is.
#[derive(Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// The words.
    pub fn as_str(&self) -> &str {
        let end = self.0.char_indices().nth(MAX_CHARS).map_or(self.0.len(), |(end, _)| end);
        &self.0[..end]
    }

    /// The same without what is not to be kept.
    pub(crate) fn cleaned(&self, outgoing: &dyn Outgoing) -> Self {
        let clean = Self::from(outgoing.clean(&self.0));
        Self(clean.as_str().to_owned())
    }
}

impl From<&str> for Reason {
    fn from(words: &str) -> Self {
        Self(strip_nul(words).into_owned())
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Self::from(&*words)
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.as_str().to_owned()
    }
}

impl std::fmt::Debug for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reason").field(&self.as_str()).finish()
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
