//! A passphrase and how it becomes a key.

use std::path::Path;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{KeyProblem, file};
use crate::entropy;
use crate::key::KeyBytes;
use crate::{SecretString, VaultError};

#[cfg(test)]
mod tests;

/// The variable that may hold the passphrase.
pub const PASSPHRASE_VARIABLE: &str = "PALYRA_VAULT_PASSPHRASE";

/// The second choice of RFC 9106 with one lane: 64 MiB three times over, under a second on a small
/// machine.
const MEMORY_KIB: u32 = 64 * 1_024;
const PASSES: u32 = 3;
const LANES: u32 = 1;
/// What a row may ask for at most: whoever can write to the database must not be able to make the
/// daemon allocate or compute without end.
const MAX_MEMORY_KIB: u32 = 1_024 * 1_024;
const MAX_PASSES: u32 = 32;

/// More than anybody types, and with the end of its line it fits into its file.
const MAX_CHARS: usize = 1_000;

/// How what the source gives becomes the key. Kept in `vault_keys`, because it must be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Derivation {
    /// It is the key.
    None,
    /// It is a passphrase.
    Argon2id { salt: String, memory_kib: u32, passes: u32, lanes: u32 },
}

impl Derivation {
    /// Today's choice for a passphrase, with a new salt.
    pub(crate) fn argon2id() -> Self {
        let salt = STANDARD.encode(entropy::random::<16>());
        Self::Argon2id { salt, memory_kib: MEMORY_KIB, passes: PASSES, lanes: LANES }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers can be written as JSON")
    }

    pub(crate) fn from_json(text: &str) -> Result<Self, KeyProblem> {
        serde_json::from_str(text).map_err(|_| KeyProblem::Derivation)
    }
}

/// Whether there is a passphrase to be had.
pub(crate) fn is_given(file: &Path) -> bool {
    let given = std::env::var_os(PASSPHRASE_VARIABLE).is_some_and(|value| !value.is_empty());
    given || !file.as_os_str().is_empty()
}

/// The passphrase from its file or the environment.
pub(crate) fn read(from: Option<&Path>) -> Result<SecretString, KeyProblem> {
    let text = match from {
        Some(path) => {
            let text = file::read(path)?;
            // Editors end a file with a line break.
            let line = text.strip_suffix('\n').unwrap_or(&text);
            SecretString::from(line.strip_suffix('\r').unwrap_or(line))
        }
        None => {
            let value = std::env::var(PASSPHRASE_VARIABLE);
            SecretString::from(value.map_err(|_| KeyProblem::NoPassphrase)?)
        }
    };
    if text.expose().is_empty() { Err(KeyProblem::NoPassphrase) } else { Ok(text) }
}

/// Refuses a new passphrase that a file would not give back as it is: what ends a line is no part of
/// it, and a file holds no more than it may have.
pub(crate) fn accept(new: &SecretString) -> Result<(), VaultError> {
    let refuse = |what: String| Err(VaultError::Refused { what });
    let text = new.expose();
    if text.is_empty() {
        return refuse("the new passphrase is empty".into());
    }
    let length = text.chars().count();
    if length > MAX_CHARS {
        return refuse(format!(
            "the new passphrase has {length} characters, and may have {MAX_CHARS}; choose a shorter one"
        ));
    }
    if text.contains(char::is_control) {
        let what = "the new passphrase is not one line of text: it has a line break or another control \
                    character in it; choose one without";
        return refuse(what.into());
    }
    Ok(())
}

/// Takes a moment and some memory, by design.
pub(crate) fn derive(passphrase: &SecretString, how: &Derivation) -> Result<KeyBytes, KeyProblem> {
    let Derivation::Argon2id { salt, memory_kib, passes, lanes } = how else {
        return Err(KeyProblem::Derivation);
    };
    if *memory_kib > MAX_MEMORY_KIB || *passes > MAX_PASSES {
        return Err(KeyProblem::Derivation);
    }
    let salt = STANDARD.decode(salt).map_err(|_| KeyProblem::Derivation)?;
    let params = Params::new(*memory_kib, *passes, *lanes, Some(32));
    let params = params.map_err(|_| KeyProblem::Derivation)?;
    let mut key = Zeroizing::new([0u8; 32]);
    let derived = Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into(
        passphrase.expose().as_bytes(),
        &salt,
        key.as_mut_slice(),
    );
    derived.map(|()| key).map_err(|_| KeyProblem::Derivation)
}
