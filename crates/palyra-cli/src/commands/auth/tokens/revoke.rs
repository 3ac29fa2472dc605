//! `palyra auth tokens revoke`

use palyra_client::Client;
use palyra_common::api::Token;
use palyra_common::{ErrorCode, TokenId};

use super::list;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, printable};
use crate::prompt;

/// Revoke an API token for good, with all tokens, links and logins that came from it
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra auth tokens revoke monitoring
  palyra auth tokens revoke 01ARZ3NDEKTSV4RRFFQ69G5FAV --yes"
)]
pub(crate) struct Arguments {
    /// The id that `palyra auth tokens list` shows, or a name that only one token in force has
    #[arg(value_name = "ID|NAME")]
    named: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let client = context.client()?;
    let id = find(&client, &arguments.named).await?;
    let name = if arguments.named.parse() == Ok(id) { "" } else { &arguments.named };
    let question = format!(
        "Revoke the token {id}{}? What uses it, or came from it, is shut out at once.",
        if name.is_empty() { String::new() } else { format!(" ({})", printable(name)) }
    );
    prompt::confirm(context.out(), &question, arguments.yes)?;
    let revoked = client.revoke_token(id).await?;
    context.out().show(&revoked, text)
}

/// The token that is meant. An id is taken at its word, also that of a token that was revoked.
async fn find(client: &Client, named: &str) -> Result<TokenId, Failure> {
    if let Ok(id) = named.parse() {
        return Ok(id);
    }
    let all = list::all(client).await?.items;
    let bears_it = |token: &&Token| token.name == named && token.revoked_at.is_none();
    let found: Vec<_> = all.iter().filter(bears_it).map(|token| token.id).collect();
    match found.as_slice() {
        [id] => Ok(*id),
        [] => Err(Failure::new(
            ErrorCode::CommonNotFound,
            format!("no token in force is called {named:?}; `palyra auth tokens list` shows all"),
        )),
        several => {
            let ids = several.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            Err(Failure::conflict(format!(
                "{} tokens are called {named:?}; give the id of one: {ids}",
                several.len()
            )))
        }
    }
}

fn text(_: &Output, token: &Token) -> String {
    format!("The token {} ({}) is revoked.\n", token.id, printable(&token.name))
}
