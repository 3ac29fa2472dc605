use thiserror::Error;
use ulid::{ULID_LEN, Ulid};

/// A text that is not an id of the kind that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no {kind} id: {problem}")]
pub struct IdParseError {
    /// What the id was to name.
    pub kind: &'static str,
    /// What is wrong with the text.
    pub problem: IdProblem,
}

/// What is wrong with a text that should be a ULID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IdProblem {
    /// A ULID has 26 characters.
    #[error("it has {found} characters, a ULID has 26")]
    Length {
        /// How many characters there were.
        found: usize,
    },
    /// A character outside Crockford's base 32.
    #[error("{found:?} at position {position} is not a digit or a letter other than I, L, O and U")]
    Character {
        /// The first such character.
        found: char,
        /// Where it stands, counted from 1.
        position: usize,
    },
    /// 26 characters hold 130 bits, a ULID has 128.
    #[error("it is too large, a ULID begins with 0 to 7")]
    Overflow,
}

pub(super) fn ulid(text: &str) -> Result<Ulid, IdProblem> {
    let found = text.chars().count();
    if found != ULID_LEN {
        return Err(IdProblem::Length { found });
    }
    for (index, found) in text.chars().enumerate() {
        let in_alphabet = found.is_ascii_alphanumeric() && !b"ILOUilou".contains(&(found as u8));
        if !in_alphabet {
            return Err(IdProblem::Character { found, position: index + 1 });
        }
    }
    // The library shifts the two surplus bits out in silence.
    if !matches!(text.as_bytes()[0], b'0'..=b'7') {
        return Err(IdProblem::Overflow);
    }
    Ok(Ulid::from_string(text).expect("26 characters of the alphabet are all that it checks"))
}

/// What [`ulid`] takes, as a regular expression.
#[cfg(feature = "openapi")]
pub(super) const ULID_PATTERN: &str = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$";
