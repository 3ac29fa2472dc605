use serde::{Deserialize, Serialize};

/// Texts to be redacted, and the same ones afterwards.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Texts {
    /// In the order in which they are given back.
    pub texts: Vec<String>,
}

/// They may hold secrets.
impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Texts(…)")
    }
}
