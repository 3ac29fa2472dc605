//! What may go out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::split::split;

#[cfg(test)]
mod tests;

/// Takes out of a text what is not to leave the house, such as the values of secrets.
pub trait Outgoing: Send + Sync {
    /// `text` as it may go out.
    fn clean(&self, text: &str) -> String;

    /// How many bytes at the end of `text` may be the beginning of something that would be taken out:
    /// whoever shows a text while it comes keeps these back.
    fn open_end(&self, text: &str) -> usize {
        palyra_common::shapes::open_end(text)
    }

    /// The same by what is known now. It waits for nobody and learns nothing more, so that a
    /// transaction that is run again writes the same.
    fn snapshot(&self) -> Arc<dyn Outgoing>;
}

/// A text that may go out. Whoever wants something said has to have it cleaned: there is no other
/// way to one, but for rows that were clean when they were written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CleanText(String);

impl CleanText {
    /// `text`, cleaned.
    pub fn of(text: &str, outgoing: &dyn Outgoing) -> Self {
        Self(outgoing.clean(text))
    }

    /// `text` in pieces of at most `most` UTF-16 code units, cut where a reader would. It is cleaned
    /// as a whole: of what stands across a cut, neither piece shows what it is.
    pub fn pieces(text: &str, most: usize, outgoing: &dyn Outgoing) -> Vec<Self> {
        split(&outgoing.clean(text), most).into_iter().map(Self).collect()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
