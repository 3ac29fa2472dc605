//! `palyra auth logins end`

use palyra_common::LoginId;
use palyra_common::api::Login;

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::Output;
use crate::prompt;

/// End a login, with all tokens, links and logins that came from it
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra auth logins end 01ARZ3NDEKTSV4RRFFQ69G5FAV
  palyra auth logins end 01ARZ3NDEKTSV4RRFFQ69G5FAV --yes"
)]
pub(crate) struct Arguments {
    /// The id that `palyra auth logins list` shows
    id: LoginId,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let id = arguments.id;
    let question = format!("End the login {id}? What was made with it is shut out at once too.");
    prompt::confirm(context.out(), &question, arguments.yes)?;
    let ended = context.client()?.end_login(id).await?;
    context.out().show(&ended, text)
}

fn text(_: &Output, login: &Login) -> String {
    format!("The login {} of {} has ended.\n", login.id, login.principal)
}
