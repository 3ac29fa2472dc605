//! `palyra auth principals disable`

use palyra_common::Principal;
use palyra_common::api::Member;

use super::person;
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::Output;
use crate::prompt;

/// Disable a person for good, with all that they made
///
/// It cannot be undone: whoever comes back is added under another name.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra auth principals disable anna
  palyra auth principals disable operator:anna --yes"
)]
pub(crate) struct Arguments {
    /// Who, as anna or operator:anna
    #[arg(value_parser = person, value_name = "NAME")]
    principal: Principal,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let who = &arguments.principal;
    let question = format!(
        "Disable {who} for good? Their logins, tokens and all made with them end now, and the name \
         cannot be enabled or added again."
    );
    prompt::confirm(context.out(), &question, arguments.yes)?;
    let disabled = context.client()?.disable_principal(who).await?;
    context.out().show(&disabled, text)
}

fn text(_: &Output, member: &Member) -> String {
    format!("{} is disabled for good.\n", member.principal)
}
