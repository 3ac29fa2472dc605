//! `palyra sessions rename`

use palyra_common::api::SessionChange;
use palyra_common::ids::SessionId;

use super::show;
use crate::context::Context;
use crate::failure::Outcome;

/// Give a conversation a name
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra sessions rename 01HZ3V9K8M2QF6T7Y4W5X6A7B8 \"The move\""
)]
pub(crate) struct Arguments {
    /// The session
    #[arg(value_name = "SESSION")]
    session: SessionId,
    /// The name
    #[arg(value_name = "TITLE")]
    title: String,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let change = SessionChange { title: arguments.title };
    let named = context.client()?.rename_session(arguments.session, &change).await?;
    context.out().show(&named, show::fields)
}
