//! Who we are to S3. Never in the configuration file.

use std::fmt;
use std::sync::Arc;

use object_store::StaticCredentialProvider;
use object_store::aws::{AwsCredential, AwsCredentialProvider};
use palyra_common::data_dir::S3_VARIABLES;

use crate::StorageError;

const KEY_ID: &str = S3_VARIABLES[0];
const SECRET: &str = S3_VARIABLES[1];
const TOKEN: &str = S3_VARIABLES[2];

/// An access key.
#[derive(Clone)]
pub struct S3Credentials {
    key_id: String,
    secret: String,
    token: Option<String>,
}

impl S3Credentials {
    /// From `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, for keys that expire,
    /// `AWS_SESSION_TOKEN`.
    pub fn from_env() -> Result<Self, StorageError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// From variables of those names. An empty one counts as not set.
    pub fn from_variables(
        variable: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Self, StorageError> {
        let refuse = |what| Err(StorageError::InvalidValue { what });
        let read = |name| variable(name).filter(|value| !value.is_empty());
        let (Some(key_id), Some(secret)) = (read(KEY_ID), read(SECRET)) else {
            return refuse(format!("storage.blobs is on S3: set {KEY_ID} and {SECRET}"));
        };
        let token = read(TOKEN);
        // They travel in headers, where a stray line break would break the request.
        let clean = |value: &str| value.bytes().all(|byte| byte.is_ascii_graphic());
        for (name, value) in
            [(KEY_ID, Some(&key_id)), (SECRET, Some(&secret)), (TOKEN, token.as_ref())]
        {
            if !value.is_none_or(|value| clean(value)) {
                return refuse(format!("{name} has spaces or characters that no key has"));
            }
        }
        Ok(Self { key_id, secret, token })
    }

    pub(super) fn into_provider(self) -> AwsCredentialProvider {
        let Self { key_id, secret, token } = self;
        Arc::new(StaticCredentialProvider::new(AwsCredential { key_id, secret_key: secret, token }))
    }
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Credentials").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<S3Credentials, String> {
        let find = |name| variables.iter().find(|(known, _)| *known == name);
        S3Credentials::from_variables(|name| find(name).map(|(_, value)| (*value).to_owned()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_key_has_two_parts_and_sometimes_a_third() {
        let long = read(&[(KEY_ID, "id"), (SECRET, "geheim"), (TOKEN, "")]).unwrap();
        assert_eq!((long.key_id.as_str(), long.secret.as_str()), ("id", "geheim"));
        assert_eq!(long.token, None);
        let short = read(&[(KEY_ID, "id"), (SECRET, "geheim"), (TOKEN, "heute")]).unwrap();
        assert_eq!(short.token.as_deref(), Some("heute"));
        let shown = format!("{short:?}");
        assert!(!shown.contains("geheim") && !shown.contains("heute"), "{shown}");
    }

    #[test]
    fn half_a_key_and_a_broken_one_are_refused_by_name() {
        for some in
            [&[][..], &[(KEY_ID, "id")], &[(SECRET, "geheim")], &[(KEY_ID, ""), (SECRET, "geheim")]]
        {
            let told = read(some).unwrap_err();
            assert!(told.contains(KEY_ID) && told.contains(SECRET), "{told}");
            assert!(!told.contains("geheim"), "{told}");
        }
        for (name, value) in [(KEY_ID, "i d"), (SECRET, "geheim\n"), (TOKEN, "geheim\u{e9}")] {
            let mut all = vec![(name, value)];
            all.extend([(KEY_ID, "id"), (SECRET, "geheim")]);
            let told = read(&all).unwrap_err();
            assert!(told.contains(name) && !told.contains("geheim"), "{told}");
        }
    }
}
