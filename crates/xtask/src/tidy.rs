//! `cargo xtask tidy`: checks what convention alone cannot hold.
//!
//! Each rule is a file with one pure function from the [`model`] of the workspace to a list of
//! violations. To add one, write the file and name it in [`RULES`].

mod config_options;
mod confined;
mod dependencies;
mod error_codes;
mod hygiene;
mod in_sight;
mod layers;
mod length;
mod load;
mod model;
mod purity;
mod report;
mod source;
mod sql_text;
mod strictness;
mod tokens;
#[cfg(test)]
mod workbench;

use std::io::Write as _;

use anyhow::Result;
use cargo_metadata::MetadataCommand;

use model::{Violation, Workspace};

struct Rule {
    name: &'static str,
    check: fn(&Workspace) -> Vec<Violation>,
}

const RULES: &[Rule] = &[
    Rule { name: layers::RULE, check: layers::check },
    Rule { name: confined::RULE, check: confined::check },
    Rule { name: sql_text::RULE, check: sql_text::check },
    Rule { name: length::RULE, check: length::check },
    Rule { name: in_sight::RULE, check: in_sight::check },
    Rule { name: strictness::RULE, check: strictness::check },
    Rule { name: purity::RULE, check: purity::check },
    Rule { name: error_codes::RULE, check: error_codes::check },
    Rule { name: config_options::RULE, check: config_options::check },
    Rule { name: dependencies::RULE, check: dependencies::check },
    Rule { name: hygiene::RULE, check: hygiene::check },
];

pub(crate) fn help() -> String {
    let rules: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    format!(
        "\
usage: cargo xtask tidy

Checks what convention alone cannot hold. A violation is told with its place and what to do, and
makes the exit code 1.

Rules: {}.
Each is a file in crates/xtask/src/tidy/.
",
        rules.join(", "),
    )
}

/// Checks the workspace that the current folder belongs to; says whether it is tidy.
pub(crate) fn run() -> Result<bool> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let workspace = load::workspace(&metadata)?;
    let violations: Vec<Violation> =
        RULES.iter().flat_map(|rule| (rule.check)(&workspace)).collect();
    let files = workspace.sources.len() + workspace.texts.len();
    let names = RULES.iter().map(|rule| rule.name);
    let report = report::render(names, &violations, files);
    std::io::stdout().lock().write_all(report.as_bytes())?;
    Ok(violations.is_empty())
}
