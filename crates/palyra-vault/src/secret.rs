//! A value that must not be seen.

use std::fmt;

use zeroize::Zeroizing;

/// A secret in memory. Wiped when it is dropped; prints as `***`; cannot be serialised.
///
/// Whoever calls [`SecretString::expose`] answers for where the text goes.
#[derive(Clone)]
pub struct SecretString(Zeroizing<String>);

impl SecretString {
    /// The text itself, for the boundary that needs it: a header, a client, an adapter.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for SecretString {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<&str> for SecretString {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Says that there is one, and no more.
impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
