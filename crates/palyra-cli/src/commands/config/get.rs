//! `palyra config get`

use super::source;
use crate::context::Context;
use crate::failure::Outcome;

/// Print the value of one option
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  palyra config get http.bind\n  palyra config get http.bind --json"
)]
pub(crate) struct Arguments {
    /// Its name, as http.bind
    key: String,
}

pub(super) async fn run(context: &Context, arguments: &Arguments) -> Outcome {
    let view = source::view(context).await?;
    let option = source::option(&view, &arguments.key)?;
    context.out().show(option, |_, option| format!("{}\n", source::plain(&option.value)))
}
