//! `palyra models list`

use palyra_common::Duration;
use palyra_common::api::{Model, ModelState, Page};

use crate::context::Context;
use crate::failure::Outcome;
use crate::money::dollars;
use crate::output::{Output, Tone};
use crate::table::{Cell, Table};

/// List models and how their providers do
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra models list\n  palyra models list --json"
)]
pub(crate) struct Arguments {}

pub(super) async fn run(context: &Context) -> Outcome {
    let page = context.client()?.models().await?;
    context.out().show(&page, text)
}

fn text(out: &Output, page: &Page<Model>) -> String {
    let mut table =
        Table::new(["MODEL", "PROVIDER", "ITS NAME THERE", "STATE", "CONTEXT", "1M IN", "1M OUT"]);
    for model in &page.items {
        table.row([
            model.name.as_str().into(),
            model.provider.as_str().into(),
            model.model.as_str().into(),
            state(model),
            model.context_tokens.to_string().into(),
            dollars(model.price.input_micros).into(),
            dollars(model.price.output_micros).into(),
        ]);
    }
    table.render(out)
}

fn state(model: &Model) -> Cell {
    match model.state {
        ModelState::Open => Cell::toned(Tone::Good, "open"),
        ModelState::Trying => Cell::toned(Tone::Doubtful, "trying"),
        ModelState::Paused => {
            // Nobody waits by the millisecond.
            let seconds = |after: Duration| Duration::from_secs(after.as_millis().div_ceil(1_000));
            let after = model.retry_after.map(|after| format!(" for {}", seconds(after)));
            Cell::toned(Tone::Bad, format!("paused{}", after.unwrap_or_default()))
        }
    }
}
