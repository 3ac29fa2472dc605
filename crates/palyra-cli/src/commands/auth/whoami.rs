//! `palyra auth whoami`

use palyra_common::api::WhoAmI;

use super::joined;
use crate::context::Context;
use crate::failure::Outcome;
use crate::output::Output;
use crate::table::Table;

/// Show as whom the daemon sees you, and what you may do
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra auth whoami\n  palyra auth whoami --json"
)]
pub(crate) struct Arguments {}

pub(super) async fn run(context: &Context) -> Outcome {
    context.out().show(&context.client()?.whoami().await?, text)
}

fn text(out: &Output, who: &WhoAmI) -> String {
    let mut table = Table::of_fields();
    table.field("principal", who.principal.as_str());
    table.field("role", who.role.as_str());
    table.field("by", who.credential.as_str());
    table.field("until", who.expires_at.map_or("always".into(), |at| at.to_string()));
    table.field("may", joined(&who.scopes));
    table.render(out)
}
