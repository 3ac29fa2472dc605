//! What an operator can choose about secrets: section `[vault]` of `palyra.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::VaultError;

/// Section `[vault]`. It says where the master key is and never holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VaultConfig {
    /// Where the master key comes from.
    pub key_source: KeySource,
    /// The key file. Empty: one per data directory in `palyra/keys` of the user's configuration
    /// directory.
    pub key_file: PathBuf,
    /// A program and its arguments that print the key, in base64 or hex.
    pub key_command: Vec<String>,
    /// A file that holds the passphrase. Empty: `PALYRA_VAULT_PASSPHRASE` does.
    pub passphrase_file: PathBuf,
}

/// Where the master key comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeySource {
    /// The command if there is one, else the passphrase if there is one, else the key file.
    #[default]
    Auto,
    /// A file that only its owner may read.
    File,
    /// A passphrase, through Argon2id.
    Passphrase,
    /// What a program prints.
    Command,
}

impl VaultConfig {
    /// Refuses values that cannot work.
    pub fn check(&self) -> Result<(), VaultError> {
        let refuse = |what: &str| Err(VaultError::Refused { what: what.into() });
        let relative = |path: &Path| !path.as_os_str().is_empty() && path.is_relative();
        if relative(&self.key_file) || relative(&self.passphrase_file) {
            return refuse("vault.key_file and vault.passphrase_file are absolute paths");
        }
        if self.key_command.first().is_some_and(String::is_empty) {
            return refuse("vault.key_command begins with the program to run");
        }
        if self.key_source == KeySource::Command && self.key_command.is_empty() {
            return refuse("vault.key_source is command, so vault.key_command names one");
        }
        Ok(())
    }
}
