//! The configuration as the API and the command line show it.

use palyra_common::api::{ConfigOption, ConfigView};
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use super::{Loaded, options};

impl Loaded {
    /// Every option with its value. What may hold a password is shown without it.
    pub(crate) fn view(&self) -> ConfigView {
        let shown = Table::try_from(&*self.config).unwrap_or_default();
        let options = options::all().iter().map(|option| {
            let value = shown.get(option.section()).and_then(|inner| inner.get(option.name()));
            ConfigOption {
                key: option.key.clone(),
                value: value.map_or(serde_json::Value::Null, json),
                default: json(&option.default),
                origin: self.origin(&option.key).as_str().into(),
                env: option.env(),
                live: option.is_live(),
                doc: option.doc.clone(),
                next: None,
            }
        });
        ConfigView { file: self.file.display().to_string(), options: options.collect() }
    }
}

/// Names what a file holds, for `If-Match`: two contents share no name, and without `salt` nobody can
/// find out by it whether a guess of what the file holds is right.
pub(crate) fn tag(salt: &[u8], text: &str) -> String {
    let digest = Sha256::new_with_prefix(salt).chain_update(text).finalize();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

fn json(value: &Value) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}
