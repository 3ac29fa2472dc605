//! `palyra config get`

use super::source::{self, plain};
use crate::context::Context;
use crate::failure::Outcome;

/// Print the value of one option
///
/// What is not set is said beside the output, and so is a value that waits for the next start.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra config get http.bind\n  palyra config get http.bind --json"
)]
pub(crate) struct Arguments {
    /// Its name, as http.bind
    key: String,
}

pub(super) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let view = source::view(context).await?;
    let option = source::option(&view, &arguments.key)?;
    let value = plain(&option.value);
    if value.is_empty() {
        context.out().note(&format!("{} is not set", arguments.key));
    }
    if let Some(next) = source::next(option) {
        context.out().note(&format!(
            "{} is {next} from the next start on; run `palyra daemon restart`",
            arguments.key
        ));
    }
    let line = if value.is_empty() { value } else { value + "\n" };
    context.out().show(option, |_, _| line)
}
