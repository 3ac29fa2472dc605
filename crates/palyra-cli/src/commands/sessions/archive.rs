//! `palyra sessions archive`

use palyra_common::ids::SessionId;
use serde_json::json;

use crate::context::Context;
use crate::failure::Outcome;

/// Put a conversation away: it is not listed, and nothing can be said in it any more
///
/// What was said stays, and a run that is under way goes on.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra sessions archive 01HZ3V9K8M2QF6T7Y4W5X6A7B8"
)]
pub(crate) struct Arguments {
    /// The session
    #[arg(value_name = "SESSION")]
    session: SessionId,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let id = arguments.session;
    context.client()?.archive_session(id).await?;
    let archived = json!({ "id": id, "archived": true });
    context.out().show(&archived, |_, _| format!("The session {id} is put away.\n"))
}
