//! `palyra auth tokens revoke`

use palyra_common::TokenId;
use palyra_common::api::Token;

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::{Output, printable};
use crate::prompt;

/// Revoke an API token, for good
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra auth tokens revoke 01ARZ3NDEKTSV4RRFFQ69G5FAV
  palyra auth tokens revoke 01ARZ3NDEKTSV4RRFFQ69G5FAV --yes"
)]
pub(crate) struct Arguments {
    /// The id that `palyra auth tokens list` shows
    id: TokenId,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let question = format!("Revoke the token {}? What uses it is shut out at once.", arguments.id);
    prompt::confirm(context.out(), &question, arguments.yes)?;
    let revoked = context.client()?.revoke_token(arguments.id).await?;
    context.out().show(&revoked, text)
}

fn text(_: &Output, token: &Token) -> String {
    format!("The token {} ({}) is revoked.\n", token.id, printable(&token.name))
}
