//! What is wrong with a message, and where.

use std::fmt;

/// Whether a message is none, or is more than is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It is not what is published.
    Shape,
    /// It is, and breaks a rule of our own: about sizes, names, or what there is on a surface.
    Limit,
}

/// Why a message is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    path: String,
    wanted: String,
    kind: FaultKind,
}

impl Fault {
    /// A value of the wrong form; `wanted` says what is expected in its place.
    pub(super) fn shape(wanted: impl Into<String>) -> Self {
        Self { path: String::new(), wanted: wanted.into(), kind: FaultKind::Shape }
    }

    /// A value that breaks a limit.
    pub(super) fn limit(wanted: impl Into<String>) -> Self {
        Self { kind: FaultKind::Limit, ..Self::shape(wanted) }
    }

    /// The same seen from the object or list that holds the value under this name or number. A path is
    /// made only where there is a fault.
    #[must_use]
    pub fn under(mut self, place: impl fmt::Display) -> Self {
        let place = place.to_string().replace('~', "~0").replace('/', "~1");
        self.path.insert_str(0, &format!("/{place}"));
        self
    }

    /// Where the fault is, as a JSON pointer into what was given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is expected there.
    pub fn wanted(&self) -> &str {
        &self.wanted
    }

    /// What kind of fault it is.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "the message" } else { &self.path };
        write!(f, "{place}: {}", self.wanted)
    }
}
