//! Every option by its name, as the definitions in Rust tell it.

use std::sync::LazyLock;

use palyra_common::api::ConfigOption as Api;
use palyra_common::text;
use palyra_models::{ModelEntryConfig, ModelProviderConfig};
use serde_json::Value as Json;
use toml::{Table, Value};

use super::Config;

/// One option.
#[derive(Debug, Clone)]
pub(crate) struct ConfigOption {
    /// `http.bind`, or with a name of the operator's choice `models.providers.NAME.kind`.
    pub(crate) key: String,
    /// What it is for, in words.
    pub(crate) doc: String,
    pub(crate) default: Value,
}

const PREFIX: &str = "PALYRA_";

/// What takes effect at SIGHUP and when it is changed through the API, with all that is below it. The
/// rest needs a restart.
const LIVE: [&str; 4] = ["log.level", "http.hosts", "models", "telemetry.enabled"];

impl ConfigOption {
    /// Its name in the environment: `PALYRA_HTTP_BIND`. One with a name of the operator's choice has
    /// none.
    pub(crate) fn env(&self) -> Option<String> {
        let name = format!("{PREFIX}{}", self.key.replace('.', "_").to_uppercase());
        (!self.is_chosen()).then_some(name)
    }

    /// Whether a part of its name is chosen by the operator.
    pub(crate) fn is_chosen(&self) -> bool {
        self.key.split('.').any(|part| part == Api::NAME)
    }

    /// The table that it stands in: `http`, or `models.providers.NAME`.
    pub(crate) fn table(&self) -> &str {
        self.key.rsplit_once('.').map_or("", |(table, _)| table)
    }

    pub(crate) fn name(&self) -> &str {
        self.key.rsplit_once('.').map_or(&*self.key, |(_, name)| name)
    }

    /// Whether a change takes effect while the daemon runs.
    pub(crate) fn is_live(&self) -> bool {
        LIVE.iter().any(|live| match self.key.strip_prefix(live) {
            Some(rest) => rest.is_empty() || rest.starts_with('.'),
            None => false,
        })
    }
}

/// All options, in the order of their definition.
pub(crate) fn all() -> &'static [ConfigOption] {
    static ALL: LazyLock<Vec<ConfigOption>> = LazyLock::new(read);
    &ALL
}

/// The option that is called `key`, or that `key` is an instance of.
pub(crate) fn find(key: &str) -> Option<&'static ConfigOption> {
    all().iter().find(|option| Api::covers(&option.key, key))
}

/// Whether `key` is a table that options stand in.
pub(crate) fn is_part(key: &str) -> bool {
    let parts = key.split('.').count();
    all().iter().any(|option| {
        beginning(option, parts).is_some_and(|beginning| Api::covers(&beginning, key))
    })
}

/// The first parts of a longer name.
fn beginning(option: &ConfigOption, parts: usize) -> Option<String> {
    let all: Vec<&str> = option.key.split('.').collect();
    (parts < all.len()).then(|| all[..parts].join("."))
}

/// What a table is about.
pub(crate) fn table_doc(table: &str) -> String {
    // One under a name of the operator's choice is told by what all of them are.
    let table = table.strip_suffix(Api::NAME).map_or(table, |map| map.trim_end_matches('.'));
    doc_at(schema_at(&schema(), table))
}

/// The option or table of as many parts whose name is nearest to `key`, if any is near. Where an
/// option has a name of the operator's choice, it is the one that stands in `key`.
pub(crate) fn nearest(key: &str) -> Option<String> {
    let parts: Vec<&str> = key.split('.').collect();
    let like = all().iter().filter_map(|option| {
        let whole = option.key.split('.').count() == parts.len();
        let known = if whole { option.key.clone() } else { beginning(option, parts.len())? };
        let named = known.split('.').zip(&parts).map(|(known, part)| match known {
            Api::NAME => part,
            known => known,
        });
        Some(named.collect::<Vec<_>>().join("."))
    });
    let like: Vec<String> = like.collect();
    text::nearest(key, like.iter().map(String::as_str)).map(str::to_owned)
}

/// The variable of an option whose name is nearest to `name`, if any is near.
pub(crate) fn nearest_variable(name: &str) -> Option<String> {
    let variables: Vec<_> = all().iter().filter_map(ConfigOption::env).collect();
    // What all of them begin with makes none the nearer.
    let own = |name| str::strip_prefix(name, PREFIX);
    let nearest = text::nearest(own(name)?, variables.iter().filter_map(|name| own(name)))?;
    Some(format!("{PREFIX}{nearest}"))
}

/// The defaults as a table, in the order of definition.
pub(crate) fn defaults() -> Table {
    Table::try_from(Config::default()).expect("the configuration is made of tables and values")
}

/// The defaults, with one of everything that the operator names.
pub(super) fn specimen() -> Config {
    let mut config = Config::default();
    config.models.providers.insert(Api::NAME.into(), ModelProviderConfig::default());
    config.models.entries.insert(Api::NAME.into(), ModelEntryConfig::default());
    config
}

fn read() -> Vec<ConfigOption> {
    let schema = schema();
    let mut options = Vec::new();
    let all = Table::try_from(specimen()).expect("the configuration is made of tables and values");
    collect("", all, &schema, &mut options);
    options
}

fn collect(table: &str, values: Table, schema: &Json, options: &mut Vec<ConfigOption>) {
    for (name, value) in values {
        let key = if table.is_empty() { name } else { format!("{table}.{name}") };
        match value {
            Value::Table(inner) => collect(&key, inner, schema, options),
            default => {
                let doc = doc_at(schema_at(schema, &key));
                options.push(ConfigOption { key, doc, default });
            }
        }
    }
}

fn schema_at<'a>(schema: &'a Json, key: &str) -> &'a Json {
    key.split('.').fold(schema, |schema, part| match part {
        Api::NAME => &schema["additionalProperties"],
        part => &schema["properties"][part],
    })
}

/// The JSON Schema of the whole, sections in place.
fn schema() -> Json {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<Config>().to_value()
}

/// A doc comment with its line breaks taken out; paragraphs stay.
fn doc_at(schema: &Json) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let paragraphs = text.split("\n\n").map(|lines| lines.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n").replace('`', "")
}
