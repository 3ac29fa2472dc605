//! `palyra auth principals add`

use palyra_common::Principal;
use palyra_common::api::{Member, NewMember};
use palyra_common::runtime_contracts::Role;

use super::person;
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::Output;

/// Give a person a role
///
/// They log in with a link that `palyra auth login-link --for NAME` makes.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra auth principals add anna --role operator
  palyra auth principals add operator:ben --role viewer --json"
)]
pub(crate) struct Arguments {
    /// Who, as anna or operator:anna
    #[arg(value_parser = person, value_name = "NAME")]
    principal: Principal,
    /// What they may do: operator, approver or viewer
    #[arg(long, value_name = "ROLE")]
    role: Role,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let Arguments { principal, role } = arguments;
    let added = context.client()?.add_principal(&NewMember { principal, role }).await?;
    context.out().show(&added, text)
}

fn text(_: &Output, member: &Member) -> String {
    let Member { principal, role, .. } = member;
    format!("{principal} is {role}; `palyra auth login-link --for {principal}` lets them in.\n")
}
