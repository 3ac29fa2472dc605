//! Every option by its name, as the definitions in Rust tell it.

use std::sync::LazyLock;

use palyra_common::text;
use serde_json::Value as Json;
use toml::{Table, Value};

use super::Config;

/// One option.
#[derive(Debug, Clone)]
pub(crate) struct ConfigOption {
    /// `http.bind`.
    pub(crate) key: String,
    /// What it is for, in words.
    pub(crate) doc: String,
    pub(crate) default: Value,
}

const PREFIX: &str = "PALYRA_";

/// What takes effect at SIGHUP and when it is changed through the API. The rest needs a restart.
const LIVE: [&str; 2] = ["log.level", "http.hosts"];

impl ConfigOption {
    /// Its name in the environment: `PALYRA_HTTP_BIND`.
    pub(crate) fn env(&self) -> String {
        format!("{PREFIX}{}", self.key.replace('.', "_").to_uppercase())
    }

    pub(crate) fn section(&self) -> &str {
        self.key.split_once('.').map_or("", |(section, _)| section)
    }

    pub(crate) fn name(&self) -> &str {
        self.key.split_once('.').map_or(&*self.key, |(_, name)| name)
    }

    /// Whether a change takes effect while the daemon runs.
    pub(crate) fn is_live(&self) -> bool {
        LIVE.contains(&&*self.key)
    }
}

/// All options, in the order of their definition.
pub(crate) fn all() -> &'static [ConfigOption] {
    static ALL: LazyLock<Vec<ConfigOption>> = LazyLock::new(read);
    &ALL
}

/// What a section is about.
pub(crate) fn section_doc(section: &str) -> String {
    doc_at(&schema()["properties"][section])
}

/// The option whose name is nearest to `key`, or where that has no dot the section, if any is near.
pub(crate) fn nearest(key: &str) -> Option<&'static str> {
    if key.contains('.') {
        return text::nearest(key, all().iter().map(|option| &*option.key));
    }
    text::nearest(key, all().iter().map(ConfigOption::section))
}

/// The variable of an option whose name is nearest to `name`, if any is near.
pub(crate) fn nearest_variable(name: &str) -> Option<String> {
    let variables: Vec<_> = all().iter().map(ConfigOption::env).collect();
    // What all of them begin with makes none the nearer.
    let own = |name| str::strip_prefix(name, PREFIX);
    let nearest = text::nearest(own(name)?, variables.iter().filter_map(|name| own(name)))?;
    Some(format!("{PREFIX}{nearest}"))
}

/// The defaults as a table, in the order of definition.
pub(crate) fn defaults() -> Table {
    Table::try_from(Config::default()).expect("the configuration is made of tables and values")
}

fn read() -> Vec<ConfigOption> {
    let schema = schema();
    let mut options = Vec::new();
    for (section, values) in defaults() {
        let Value::Table(values) = values else { continue };
        for (name, default) in values {
            let doc = doc_at(&schema["properties"][&section]["properties"][&name]);
            options.push(ConfigOption { key: format!("{section}.{name}"), doc, default });
        }
    }
    options
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
