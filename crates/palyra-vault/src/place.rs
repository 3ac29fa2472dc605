//! Where the master key is looked for, told without a database.

use std::path::Path;

use crate::VaultError;
use crate::config::VaultConfig;
use crate::source::{KeyProblem, Source, file, passphrase};

/// Where a start looks for the master key, and what is there. Which key the secrets need, if there
/// are any, only the database knows.
#[derive(Debug, Clone)]
pub struct KeyPlace {
    /// In words: the kind of source, and the path of a file.
    pub source: String,
    /// What was seen there.
    pub seen: KeySeen,
}

/// What is in the place of the master key.
#[derive(Debug, Clone)]
pub enum KeySeen {
    /// A key, or a passphrase.
    There,
    /// Nothing. The first secret makes the key.
    NotMade,
    /// No passphrase, which nobody here can make.
    NotGiven,
    /// It was not looked at: a command or a keyring may ask somebody.
    NotAsked,
    /// Something that cannot be used.
    Unusable(KeyProblem),
}

impl KeyPlace {
    /// Looks at the place that is configured. Fails where there is none. Blocks for as long as
    /// reading a small file takes.
    pub fn look(config: &VaultConfig, data_dir: &Path) -> Result<Self, VaultError> {
        let source = Source::of(config, data_dir).map_err(VaultError::NoKey)?;
        let read = match &source {
            Source::File(path) => file::read_key(path).map(|_| KeySeen::There),
            Source::Passphrase(from) => passphrase::read(from.as_deref()).map(|_| KeySeen::There),
            Source::Command(_) | Source::Keyring(_) => Ok(KeySeen::NotAsked),
        };
        let seen = read.unwrap_or_else(|problem| match (problem, &source) {
            (KeyProblem::Missing { .. }, Source::File(_)) => KeySeen::NotMade,
            (KeyProblem::Missing { .. } | KeyProblem::NoPassphrase, _) => KeySeen::NotGiven,
            (problem, _) => KeySeen::Unusable(problem),
        });
        Ok(Self { source: source.to_string(), seen })
    }
}
