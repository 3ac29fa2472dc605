//! `palyra secrets delete`

use serde_json::json;

use super::name::SecretName;
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::printable;
use crate::prompt;

/// Delete a secret with all its versions
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra secrets delete openai
  palyra secrets delete connector:discord/token --yes"
)]
pub(crate) struct Arguments {
    /// NAME, or SCOPE/NAME
    #[arg(value_name = "[SCOPE/]NAME")]
    named: SecretName,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let secret = &arguments.named;
    let question = format!("Delete {secret} with all its versions? It cannot be brought back.");
    prompt::confirm(context.out(), &question, arguments.yes)?;
    context.client()?.delete_secret(&secret.scope, &secret.name).await?;
    let deleted = json!({ "scope": secret.scope, "name": secret.name, "deleted": true });
    let told = format!("{} is deleted.\n", printable(&secret.to_string()));
    context.out().show(&deleted, |_, _| told)
}
