//! Authenticated encryption: XChaCha20-Poly1305 with a random nonce in front.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::entropy;
use crate::key::KeyBytes;
use crate::name::SecretName;

#[cfg(test)]
mod tests;

const NONCE: usize = 24;

/// What a sealed text is bound to. Each part is prefixed with its length, so that no two lists of
/// parts share their bytes.
#[derive(Clone)]
pub(crate) struct Bound(Vec<u8>);

impl Bound {
    pub(crate) fn new(purpose: &[u8]) -> Self {
        Self(Vec::new()).bytes(purpose)
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// The value of a secret.
    pub(crate) fn value(name: &SecretName, version: i64) -> Self {
        Self::new(b"palyra.vault.value.v1").version(name, version)
    }

    /// The key of a value. The master key adds its id.
    pub(crate) fn data_key(name: &SecretName, version: i64) -> Self {
        Self::new(b"palyra.vault.data-key.v1").version(name, version)
    }

    fn version(self, name: &SecretName, version: i64) -> Self {
        let named = self.text(name.scope().as_str()).text(name.name());
        named.bytes(&version.to_be_bytes())
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend((bytes.len() as u64).to_be_bytes());
        self.0.extend(bytes);
        self
    }
}

/// The seal does not match: other key, other binding, or changed bytes.
#[derive(Debug)]
pub(crate) struct Unsealed;

pub(crate) fn seal(key: &KeyBytes, text: &[u8], bound: &Bound) -> Vec<u8> {
    let nonce = entropy::random::<NONCE>();
    let payload = Payload { msg: text, aad: &bound.0 };
    let sealed = cipher(key).encrypt(&XNonce::from(nonce), payload);
    let sealed = sealed.expect("a text of at most 64 KiB is far below the limit of the cipher");
    [nonce.as_slice(), &sealed].concat()
}

pub(crate) fn open(
    key: &KeyBytes,
    sealed: &[u8],
    bound: &Bound,
) -> Result<Zeroizing<Vec<u8>>, Unsealed> {
    let (nonce, text) = sealed.split_first_chunk::<NONCE>().ok_or(Unsealed)?;
    let payload = Payload { msg: text, aad: &bound.0 };
    let opened = cipher(key).decrypt(&XNonce::from(*nonce), payload);
    opened.map(Zeroizing::new).map_err(|_| Unsealed)
}

fn cipher(key: &KeyBytes) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new((&**key).into())
}
