use std::fmt;

/// The longest origin that is kept.
const MAX_CHARS: usize = 128;

/// From where a request came, for the journal: `unix`, `http 192.0.2.7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(Box<str>);

impl Origin {
    /// Part of it may come from outside, so what is not printable is left out and the rest is cut
    /// to 128 characters: a strange address must never keep an event from being recorded.
    pub fn new(text: &str) -> Self {
        Self(text.chars().filter(|c| !c.is_control()).take(MAX_CHARS).collect::<String>().into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
