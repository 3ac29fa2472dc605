//! `palyra config validate`

use std::path::PathBuf;

use serde_json::json;

use crate::context::Context;
use crate::failure::Outcome;
use crate::palyrad;

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
    palyrad::done(context, &asked)?;
    let file = arguments.file.as_ref().map(|file| file.display().to_string());
    let what = file.clone().unwrap_or_else(|| "The configuration".into());
    context
        .out()
        .show(&json!({ "valid": true, "file": file }), |_, _| format!("{what} is valid.\n"))
}
