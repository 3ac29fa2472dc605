//! The proof that a change comes from the console: derived from the cookie's secret, which a page
//! of another site cannot read, so it needs no row and ends with its login.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Secret;
use crate::secret::SECRET_CHARS;

/// Keeps this use of the secret apart from any other.
const LABEL: &[u8] = b"palyra console csrf 1";

/// The token that belongs to a login's cookie.
pub fn csrf_token(cookie_secret: &str) -> Secret {
    Secret::encode("", &keyed(cookie_secret).finalize().into_bytes())
}

/// Whether `presented` is the token of this cookie, in time that does not depend on the answer.
pub(crate) fn matches(cookie_secret: &str, presented: &str) -> bool {
    if presented.len() != SECRET_CHARS {
        return false;
    }
    let decoded = URL_SAFE_NO_PAD.decode(presented);
    decoded.is_ok_and(|tag| keyed(cookie_secret).verify_slice(&tag).is_ok())
}

fn keyed(cookie_secret: &str) -> Hmac<Sha256> {
    let keyed = Hmac::<Sha256>::new_from_slice(cookie_secret.as_bytes());
    keyed.expect("HMAC takes keys of any length").chain_update(LABEL)
}

#[cfg(test)]
mod tests;
