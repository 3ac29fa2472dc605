use serde::{Deserialize, Serialize};

use crate::ids::Principal;
use crate::time::Timestamp;

/// A secret by its name; its value is never given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Secret {
    /// Its scope: `global`, or `agent:`, `connector:`, `skill:` or `principal:` with an id.
    pub scope: String,
    /// Its name within the scope.
    pub name: String,
    /// The versions that are kept, the current one first.
    pub versions: Vec<SecretVersion>,
}

/// One version of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SecretVersion {
    /// Its number, which only grows.
    pub version: i64,
    /// When it was set.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Principal,
}

/// The value of a secret, on its way into the vault.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SecretValue {
    /// At most 64 KiB.
    #[cfg_attr(feature = "openapi", schema(min_length = 1))]
    pub value: String,
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretValue(…)")
    }
}

/// A secret that was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SecretStored {
    /// Its scope.
    pub scope: String,
    /// Its name within the scope.
    pub name: String,
    /// The version that is current now.
    pub version: i64,
}

/// A change of the master key.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RotateMaster {
    /// The new passphrase, where the key comes from one: one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]{1,1000}$")
    )]
    pub passphrase: Option<String>,
    /// The program, and its arguments, that prints the new key, where it comes from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

impl std::fmt::Debug for RotateMaster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RotateMaster(…)")
    }
}

/// A master key that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MasterRotated {
    /// The id of the new key.
    pub key_id: String,
    /// The file that the new key is in, where it was made for one: the key file, unless that could
    /// not be replaced, of which `next_step` tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The id of the key before, which backups made before need.
    pub old_key_id: String,
    /// The file that the key before is kept in, where it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_key_file: Option<String>,
    /// How many versions of secrets were locked anew.
    pub rewrapped: u64,
    /// What the operator has to do now; absent if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}
