//! `palyra config validate`

use std::path::PathBuf;

use serde_json::json;

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::printable;
use crate::palyrad;

/// How palyrad begins a warning.
const WARNING: &str = "palyrad: warning: ";

/// Check the configuration without starting anything
///
/// Exits with 2 when it cannot be used.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra config validate
  palyra config validate new.toml"
)]
pub(crate) struct Arguments {
    /// A file to check alone; without it, what a start would use
    file: Option<PathBuf>,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context.own_data_dir("config validate")?;
    let mut asked = vec!["config".as_ref(), "validate".as_ref()];
    asked.extend(arguments.file.as_ref().map(|file| file.as_os_str()));
    let said = palyrad::done(context, &asked)?;
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let warnings: Vec<_> = said.lines().filter_map(|line| line.strip_prefix(WARNING)).collect();
    let file = arguments.file.as_ref().map(|file| file.display().to_string());
    let what = file.clone().unwrap_or_else(|| "The configuration".into());
    for warning in &warnings {
        context.out().note(&format!("Warning: {}", printable(warning)));
    }
    let document = json!({ "valid": true, "file": file, "warnings": warnings });
    context.out().show(&document, |_, _| format!("{what} is valid.\n"))
}
