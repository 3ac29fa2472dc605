//! Every option that can be configured stands in the example, and the example holds no other.

mod example;
mod schema;

use super::model::{Violation, Workspace};
use example::Entry;
use schema::Schema;

pub(crate) const RULE: &str = "config options";

const EXAMPLE: &str = "docs/palyra.example.toml";

pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let config_files = workspace
        .sources
        .iter()
        .filter(|source| source.is_product() && source.file_name() == "config.rs");
    let schema = Schema::read(config_files);
    let entries = example::entries(workspace.text(EXAMPLE).unwrap_or_default());
    let mut violations = doubled(&schema);
    violations.extend(missing(&schema, &entries));
    violations.extend(unknown(&schema, &entries));
    violations
}

fn doubled(schema: &Schema) -> Vec<Violation> {
    schema
        .doubled
        .iter()
        .map(|section| {
            let what = format!("a second section is named {}", section.name);
            let fix = "name it after its section, so that the two can be told apart";
            Violation::new(RULE, &section.file, what, fix).at(section.line)
        })
        .collect()
}

fn missing(schema: &Schema, entries: &[Entry]) -> Vec<Violation> {
    schema
        .options
        .iter()
        .filter(|option| !entries.iter().any(|entry| option.path.matches(&entry.path)))
        .map(|option| {
            let what = format!("option {} is not in {EXAMPLE}", option.path);
            let fix = "add it under its section, with its default and a comment, as `# name = …`";
            Violation::new(RULE, &option.file, what, fix).at(option.line)
        })
        .collect()
}

fn unknown(schema: &Schema, entries: &[Entry]) -> Vec<Violation> {
    entries
        .iter()
        .filter(|entry| !schema.options.iter().any(|option| option.path.covers(&entry.path)))
        .map(|entry| {
            let what = format!("{} is not an option", entry.path.join("."));
            let fix = "remove it, or correct its section";
            Violation::new(RULE, EXAMPLE, what, fix).at(entry.line)
        })
        .collect()
}

#[cfg(test)]
mod tests;
