//! What an operator can choose about secrets: section `[vault]` of `palyra.toml`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::VaultError;

/// Section `[vault]`. It says where the master key is and never holds it. The comments on its
/// options are what users read in the example.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VaultConfig {
    /// Where the master key comes from, which every secret in the database is locked with. Whoever
    /// loses it loses the secrets, and nothing else: keep a copy of it apart from the backups of
    /// the data.
    ///
    /// file: a key file. passphrase: from `PALYRA_VAULT_PASSPHRASE` or `passphrase_file`, through
    /// Argon2id. command: what a program prints, such as that of a password manager. keyring: the
    /// keyring of the desktop, through `secret-tool` on Linux (package libsecret-tools) and
    /// `security` on macOS; the key is made there with the first secret, in an entry for this data
    /// directory. auto: the command if one is set, else the passphrase if one is given, else the
    /// key file; never the keyring, which may ask somebody for its password when nobody is there.
    #[schemars(with = "String")]
    pub key_source: KeySource,
    /// The key file, as an absolute path; made with the first secret, with mode 0600. It is
    /// refused when others may read it. Nodes that share a database need copies of one file.
    /// Empty: one per data directory in palyra/keys of `$XDG_CONFIG_HOME` or ~/.config.
    pub key_file: PathBuf,
    /// The program and its arguments that print the key, 32 bytes in base64 or hex, within 10
    /// seconds. It is not run by a shell, for instance `["pass", "show", "palyra"]`.
    #[serde(serialize_with = "program_alone")]
    pub key_command: Vec<String>,
    /// An absolute path of a file with mode 0600 that holds the passphrase. Empty: the passphrase
    /// is in `PALYRA_VAULT_PASSPHRASE`.
    pub passphrase_file: PathBuf,
}

/// Arguments may be secret, and the configuration is shown to people who may not know them.
fn program_alone<S: Serializer>(command: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    let shown = command.first().map(String::as_str).into_iter();
    let rest = command.get(1).map(|_| "…");
    serializer.collect_seq(shown.chain(rest))
}

/// Where the master key comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The keyring of the system. Only where it was chosen: it may ask somebody.
    Keyring,
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
