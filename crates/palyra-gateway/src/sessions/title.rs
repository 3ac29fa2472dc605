//! What a conversation is called.

use palyra_common::text::strip_nul;

use crate::error::GatewayError;

const MAX_CHARS: usize = 200;

/// The name of a conversation, which may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title(String);

impl Title {
    /// The title that `text` is, without what surrounds it.
    pub fn parse(text: &str) -> Result<Self, GatewayError> {
        let text = text.trim();
        if text.chars().count() > MAX_CHARS {
            let what = format!("title has at most {MAX_CHARS} characters");
            return Err(GatewayError::Invalid(what));
        }
        Ok(Self(strip_nul(text).into_owned()))
    }

    /// As it is shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
