//! Secrets while they are in memory, and the digest that is kept of them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize, Zeroizing};

/// Characters of 256 bits in base64url.
pub(crate) const SECRET_CHARS: usize = 43;

/// A text that only its bearer may know. Overwritten when it is dropped; never printed; not to be
/// compared, since that would take longer the more of a guess is right.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// 256 random bits after `prefix`.
    pub(crate) fn random(prefix: &str) -> Self {
        let mut bits = Zeroizing::new([0u8; 32]);
        getrandom::fill(bits.as_mut_slice())
            .expect("the operating system gives random bytes after boot");
        Self::encode(prefix, bits.as_slice())
    }

    pub(crate) fn encode(prefix: &str, bytes: &[u8]) -> Self {
        let mut text = Zeroizing::new(String::with_capacity(prefix.len() + SECRET_CHARS));
        text.push_str(prefix);
        let mut encoded = URL_SAFE_NO_PAD.encode(bytes);
        text.push_str(&encoded);
        encoded.zeroize();
        Self(text)
    }

    /// The text, for the one who is to have it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The SHA-256 of a secret: what is stored and looked up. A secret is as long as its digest, so
/// neither a salt nor a slow hash would add anything, and how long a lookup takes tells only about
/// the digest, which nobody can choose.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    /// The digest of what somebody presents, if it has the shape of a secret after `prefix`.
    pub(crate) fn of_presented(prefix: &str, presented: &str) -> Option<Self> {
        let secret = presented.strip_prefix(prefix)?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let shaped = secret.len() == SECRET_CHARS && secret.bytes().all(allowed);
        shaped.then(|| Self(Sha256::digest(presented).into()))
    }

    pub(crate) fn of(secret: &Secret) -> Self {
        Self(Sha256::digest(secret.expose()).into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests;
