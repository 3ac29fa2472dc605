//! The configuration as the API and the command line show it.

use palyra_common::api::{ConfigOption as Api, ConfigView};
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use super::options::{self, ConfigOption};
use super::{Loaded, layers};

/// Shown without its password and its parameters.
const STORAGE_URL: &str = "storage.url";
/// Shown without its arguments.
const KEY_COMMAND: &str = "vault.key_command";
/// Options of which two values may look the same.
const HIDDEN: [&str; 2] = [STORAGE_URL, KEY_COMMAND];

impl Loaded {
    /// Every option with its value. What may hold a password is shown without it. An option under a
    /// name of the operator's choice is shown for each name that there is, and once for all.
    pub(crate) fn view(&self) -> ConfigView {
        let shown = Table::try_from(&*self.config).unwrap_or_default();
        let options = options::all().iter().flat_map(|option| {
            keys(option, &shown).into_iter().map(|key| {
                let value = layers::at(&shown, &key).unwrap_or(&option.default);
                Api {
                    value: json(value),
                    default: json(&option.default),
                    origin: self.origin(&key).as_str().into(),
                    env: option.env().unwrap_or_default(),
                    live: option.is_live(),
                    doc: option.doc.clone(),
                    next: None,
                    key,
                }
            })
        });
        ConfigView { file: self.file.display().to_string(), options: options.collect() }
    }

    /// Whether what is called `key`, an option or what holds some, is the same as in `other`.
    pub(crate) fn agrees(&self, other: &Self, key: &str) -> bool {
        let values = |loaded: &Self| -> Vec<_> {
            let within = |option: &Api| {
                let rest = option.key.strip_prefix(key);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let options = loaded.view().options.into_iter().filter(within);
            options.map(|option| (option.key, option.value)).collect()
        };
        let mut hidden = HIDDEN.iter().filter(|option| option.starts_with(key));
        hidden.all(|option| self.is_same_behind(other, option)) && values(self) == values(other)
    }

    /// Whether what is not shown of an option is the same as in `other`.
    pub(crate) fn is_same_behind(&self, other: &Self, option: &str) -> bool {
        let (ours, theirs) = (&self.config, &other.config);
        match option {
            STORAGE_URL => ours.storage.url == theirs.storage.url,
            KEY_COMMAND => ours.vault.key_command == theirs.vault.key_command,
            _ => true,
        }
    }
}

/// The names under which an option is shown.
fn keys(option: &ConfigOption, shown: &Table) -> Vec<String> {
    let pattern = option.key.split_once(&format!(".{}.", Api::NAME));
    let named = pattern.and_then(|(map, rest)| {
        let names = layers::at(shown, map)?.as_table()?.keys();
        Some(names.map(|name| format!("{map}.{name}.{rest}")).collect::<Vec<_>>())
    });
    named.into_iter().flatten().chain([option.key.clone()]).collect()
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
