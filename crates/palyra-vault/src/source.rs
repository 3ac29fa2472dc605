//! Where the master key comes from.

pub(crate) mod command;
pub(crate) mod file;
pub(crate) mod keyring;
pub(crate) mod passphrase;
mod program;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use passphrase::PASSPHRASE_VARIABLE;

use crate::config::{KeySource, VaultConfig};
use keyring::Keyring;

/// Why a source does not give a key.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// A file is not there.
    #[error("the file {} does not exist; bring it back, or copy it from the node that made it", path.display())]
    Missing {
        /// Which one.
        path: PathBuf,
    },
    /// Others may read or change the file.
    #[error("the file {} is open to other users (mode {mode:03o}); run chmod 600 on it", path.display())]
    Exposed {
        /// Which one.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file belongs to somebody else.
    #[error("the file {} belongs to another user than the one that runs the daemon", path.display())]
    Foreign {
        /// Which one.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("the file {} cannot be used", path.display())]
    Unusable {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: Arc<std::io::Error>,
    },
    /// What the source gives is no key.
    #[error("what the source gives is not a key: 32 bytes in base64 or hex")]
    Malformed,
    /// The source gives another key than the one in memory.
    #[error("another key is there; rename it before the right one or a new one takes its place")]
    Another,
    /// There is no passphrase.
    #[error("there is no passphrase; set PALYRA_VAULT_PASSPHRASE or vault.passphrase_file")]
    NoPassphrase,
    /// How the passphrase was turned into the key cannot be understood.
    #[error("how the passphrase becomes the key is not stored in a form that is understood")]
    Derivation,
    /// The command did not print a key.
    #[error("the command {program} {what}")]
    Command {
        /// Which one, without its arguments.
        program: String,
        /// What it did instead.
        what: String,
    },
    /// The keyring does not give or take the key.
    #[error("the keyring of the system {what}")]
    Keyring {
        /// What it does instead, and what to do about it.
        what: String,
    },
    /// The key came from another source than the one that is configured.
    #[error(
        "the configuration leads to {tried} instead; give it the {locked_with} again, with {}",
        given_by(locked_with)
    )]
    Elsewhere {
        /// The source that was tried.
        tried: String,
        /// Where the key came from when it was made.
        locked_with: String,
    },
    /// There is no configuration directory.
    #[error("there is no place for the key file, because HOME is not set; set vault.key_file")]
    NoHome,
    /// The work was cut off.
    #[error("the key could not be fetched, because the daemon is stopping")]
    Stopped,
}

/// A source, as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    File(PathBuf),
    /// In this file, or in the environment.
    Passphrase(Option<PathBuf>),
    Command(Vec<String>),
    Keyring(Keyring),
}

impl Source {
    pub(crate) fn of(config: &VaultConfig, data_dir: &Path) -> Result<Self, KeyProblem> {
        let given = |path: &PathBuf| (!path.as_os_str().is_empty()).then(|| path.clone());
        let passphrase = || Source::Passphrase(given(&config.passphrase_file));
        let command = || Source::Command(config.key_command.clone());
        let file = || match given(&config.key_file) {
            Some(path) => Ok(Source::File(path)),
            None => file::default_path(data_dir).map(Source::File),
        };
        match config.key_source {
            KeySource::File => file(),
            KeySource::Passphrase => Ok(passphrase()),
            KeySource::Command => Ok(command()),
            KeySource::Keyring => Ok(Source::Keyring(Keyring::of(data_dir))),
            KeySource::Auto if !config.key_command.is_empty() => Ok(command()),
            KeySource::Auto if passphrase::is_given(&config.passphrase_file) => Ok(passphrase()),
            KeySource::Auto => file(),
        }
    }

    /// The word in configuration and in `vault_keys`.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Source::File(_) => "file",
            Source::Passphrase(_) => "passphrase",
            Source::Command(_) => "command",
            Source::Keyring(_) => "keyring",
        }
    }
}

/// What gives the key of a source, by its word in `vault_keys`.
pub(crate) fn given_by(word: &str) -> &'static str {
    match word {
        "file" => "vault.key_file",
        "passphrase" => "PALYRA_VAULT_PASSPHRASE or vault.passphrase_file",
        "command" => "vault.key_command",
        _ => "vault.key_source",
    }
}

/// For an operator. Of a command only the program, since its arguments may be secret.
impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::File(path) => write!(f, "the key file {}", path.display()),
            Source::Passphrase(Some(path)) => write!(f, "the passphrase in {}", path.display()),
            Source::Passphrase(None) => write!(f, "the passphrase in {PASSPHRASE_VARIABLE}"),
            Source::Command(argv) => {
                write!(f, "the command {}", argv.first().map_or("", String::as_str))
            }
            Source::Keyring(_) => write!(f, "the keyring of the system"),
        }
    }
}

/// Runs what waits for the disk, or computes for long, where it keeps nobody from working.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, KeyProblem> + Send + 'static,
) -> Result<T, KeyProblem> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(KeyProblem::Stopped))
}
