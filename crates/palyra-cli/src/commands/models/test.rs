//! `palyra models test`

use palyra_common::api::ModelTested;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::money::dollars;
use crate::output::{Output, Tone, printable};

/// Ask models something small, for real
///
/// Exits with 7 when one of them does not answer.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra models test                all of them
  palyra models test offline"
)]
pub(crate) struct Arguments {
    /// The models, by the names that agents use [default: all]
    #[arg(value_name = "MODEL")]
    models: Vec<String>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let client = context.client()?;
    let mut names = arguments.models;
    if names.is_empty() {
        names = client.models().await?.items.into_iter().map(|model| model.name).collect();
    }
    let progress = context.out().progress("{spinner} asking {msg}, {elapsed}");
    let mut tested = Vec::new();
    for name in &names {
        progress.set_message(printable(name).into_owned());
        match client.test_model(name).await {
            Ok(told) => tested.push(told),
            Err(error) => {
                progress.finish_and_clear();
                return Err(error.into());
            }
        }
    }
    progress.finish_and_clear();
    let page = palyra_common::api::Page { items: tested, next: None };
    context.out().show(&page, |out, page| page.items.iter().map(|one| text(out, one)).collect())?;
    if page.items.iter().all(|one| one.ok) { Ok(()) } else { Err(Failure::Faults) }
}

fn text(out: &Output, tested: &ModelTested) -> String {
    let name = printable(&tested.name);
    if !tested.ok {
        let why = tested.error.as_deref().unwrap_or("it did not say why");
        let failed = out.paint(Tone::Bad, "does not answer");
        return format!("{name} {failed} after {} ms: {}\n", tested.took_ms, printable(why));
    }
    let first = tested.first_piece_ms.map(|first| format!(", the first word after {first} ms"));
    format!(
        "{name} {} within {} ms{} ({} + {} tokens, {}): {}\n",
        out.paint(Tone::Good, "answers"),
        tested.took_ms,
        first.unwrap_or_default(),
        tested.input_tokens,
        tested.output_tokens,
        dollars(tested.cost_micros),
        printable(tested.answer.as_deref().unwrap_or_default().trim()),
    )
}
