//! `palyra router`

mod preview;
mod rules;

use crate::context::Context;
use crate::failure::Outcome;

/// Say which messages reach an agent
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(subcommand)]
    Rules(rules::Command),
    Preview(preview::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Rules(command) => rules::run(context, command).await,
        Command::Preview(arguments) => preview::run(context, arguments).await,
    }
}
