//! How a secret is named: `name`, or `scope/name`.

use std::fmt;
use std::str::FromStr;

/// Where a secret without a scope is.
const DEFAULT_SCOPE: &str = "global";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretName {
    pub(super) scope: String,
    pub(super) name: String,
}

impl FromStr for SecretName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (scope, name) = text.split_once('/').unwrap_or((DEFAULT_SCOPE, text));
        let is_none = |word: &str| matches!(word, "" | "." | "..");
        if is_none(scope) || is_none(name) || name.contains('/') {
            return Err("a secret is named NAME or SCOPE/NAME, as connector:discord/token".into());
        }
        Ok(Self { scope: scope.into(), name: name.into() })
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.scope, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_is_global() {
        let named = |text: &str| text.parse::<SecretName>().map(|name| name.to_string());
        assert_eq!(named("openai"), Ok("global/openai".into()));
        assert_eq!(named("connector:discord/token"), Ok("connector:discord/token".into()));
        for text in ["", "/", "a/", "/b", "a/b/c", "../x", "x/..", "..", ".", "./x"] {
            assert!(named(text).is_err(), "{text:?}");
        }
    }
}
