//! Which servers can be used.

use std::fmt;

#[cfg(test)]
mod tests;

/// The version of a server, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion(String);

impl ServerVersion {
    /// The first with `idle_in_transaction_session_timeout`, which every session is told first.
    pub const OLDEST: (u32, u32) = (9, 6);

    /// Whether it is older than version `major.minor`.
    pub fn is_older_than(&self, (major, minor): (u32, u32)) -> bool {
        let mut parts = self.0.split('.').map(|part| {
            let digits = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
            part[..digits].parse().unwrap_or(0)
        });
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < (major, minor)
    }
}

impl From<String> for ServerVersion {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
