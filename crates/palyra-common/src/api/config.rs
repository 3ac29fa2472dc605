use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The configuration in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfigView {
    /// The file that is read, whether or not it is there.
    pub file: String,
    /// Every option.
    pub options: Vec<ConfigOption>,
}

/// One option.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfigOption {
    /// Its name: `http.bind`.
    pub key: String,
    /// The value in force; passwords in it are left out.
    pub value: Value,
    /// The value when nothing is said.
    pub default: Value,
    /// Where the value comes from: `default`, `file`, `environment` or `command_line`.
    pub origin: String,
    /// Its name in the environment; empty where it has none.
    pub env: String,
    /// Whether a change takes effect while the daemon runs.
    pub live: bool,
    /// What it is for.
    pub doc: String,
    /// The value from the next start on, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Value>,
}

impl ConfigOption {
    /// Stands in the name of an option for a name of the operator's choice, as in
    /// `models.providers.NAME.kind`.
    pub const NAME: &'static str = "NAME";

    /// Whether `pattern`, the name of an option, is what `key` is an instance of.
    pub fn covers(pattern: &str, key: &str) -> bool {
        pattern.split('.').count() == key.split('.').count()
            && pattern.split('.').zip(key.split('.')).all(|(pattern, part)| {
                pattern == part || (pattern == Self::NAME && !part.is_empty())
            })
    }
}

impl ConfigView {
    /// The option of this name; where there is none, the one that it would be an instance of.
    pub fn option(&self, key: &str) -> Option<&ConfigOption> {
        let covers = |option: &&ConfigOption| ConfigOption::covers(&option.key, key);
        self.options.iter().find(|option| option.key == key).or(self.options.iter().find(covers))
    }
}

/// A change of the configuration file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ConfigChange {
    /// Options to be set.
    pub set: BTreeMap<String, Value>,
    /// Options to be removed from the file.
    pub unset: Vec<String>,
}

/// What a change came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfigChanged {
    /// The file that was written.
    pub file: String,
    /// Options that are in force now.
    pub applied: Vec<String>,
    /// Options that take effect at the next start.
    pub needs_restart: Vec<String>,
    /// Options that the environment or the command line sets, so that the file has no say.
    pub overridden: Vec<String>,
    /// Options that were to be removed and were not in the file.
    #[serde(default)]
    pub not_set: Vec<String>,
}
