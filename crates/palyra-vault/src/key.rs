//! The master key.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::entropy;
use crate::seal::{self, Bound, Unsealed};
use crate::source::KeyProblem;

#[cfg(test)]
mod tests;

/// The bytes of a master key, wiped when they are dropped. No `Debug`.
pub(crate) type KeyBytes = Zeroizing<[u8; 32]>;

const PROBE: &[u8] = b"palyra vault probe";

/// Which master key: a name for it that says nothing about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct KeyId(Box<str>);

impl KeyId {
    /// A new one.
    pub(crate) fn random() -> Self {
        Self(hex(&entropy::random::<16>()).into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Rows only hold what was made here; but a key id becomes part of a file name, so it is checked.
impl FromStr for KeyId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| Self(text.into())).ok_or("not the id of a master key")
    }
}

/// A master key that has been found to be the right one, or that is new.
pub(crate) struct MasterKey {
    pub(crate) id: KeyId,
    bytes: KeyBytes,
}

impl MasterKey {
    pub(crate) fn new(id: KeyId, bytes: KeyBytes) -> Self {
        Self { id, bytes }
    }

    /// The key of a row, if `bytes` opens its probe.
    pub(crate) fn verified(id: &KeyId, bytes: KeyBytes, probe: &[u8]) -> Option<Self> {
        let found = seal::open(&bytes, probe, &probe_bound(id)).ok()?;
        (found.as_slice() == PROBE).then(|| Self { id: id.clone(), bytes })
    }

    /// What [`MasterKey::verified`] checks.
    pub(crate) fn probe(&self) -> Vec<u8> {
        seal::seal(&self.bytes, PROBE, &probe_bound(&self.id))
    }

    pub(crate) fn wrap(&self, data_key: &[u8; 32], bound: Bound) -> Vec<u8> {
        seal::seal(&self.bytes, data_key, &bound.text(self.id.as_str()))
    }

    pub(crate) fn unwrap(&self, wrapped: &[u8], bound: Bound) -> Result<KeyBytes, Unsealed> {
        let opened = seal::open(&self.bytes, wrapped, &bound.text(self.id.as_str()))?;
        let mut data_key = Zeroizing::new([0u8; 32]);
        if opened.len() != data_key.len() {
            return Err(Unsealed);
        }
        data_key.copy_from_slice(&opened);
        Ok(data_key)
    }

    pub(crate) fn bytes(&self) -> &KeyBytes {
        &self.bytes
    }

    pub(crate) fn same_bytes(&self, other: &KeyBytes) -> bool {
        *self.bytes == **other
    }
}

fn probe_bound(id: &KeyId) -> Bound {
    Bound::new(b"palyra.vault.probe.v1").text(id.as_str())
}

/// Reads a key: 32 bytes in base64 of either alphabet, or in hex.
pub(crate) fn parse(text: &str) -> Result<KeyBytes, KeyProblem> {
    let text = text.trim();
    let bytes = if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        from_hex(text)
    } else {
        let engines = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
        engines.iter().find_map(|engine| engine.decode(text).ok().map(Zeroizing::new))
    };
    let mut key = Zeroizing::new([0u8; 32]);
    match bytes {
        Some(bytes) if bytes.len() == key.len() => {
            key.copy_from_slice(&bytes);
            Ok(key)
        }
        Some(_) | None => Err(KeyProblem::Malformed),
    }
}

/// What [`parse`] reads.
pub(crate) fn write(key: &KeyBytes) -> Zeroizing<String> {
    Zeroizing::new(STANDARD.encode(key.as_slice()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let digits: Option<Vec<u32>> = text.chars().map(|char| char.to_digit(16)).collect();
    let pairs = Zeroizing::new(digits?);
    let byte = |pair: &[u32]| u8::try_from(pair[0] * 16 + pair[1]).ok();
    pairs.chunks_exact(2).map(byte).collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}
