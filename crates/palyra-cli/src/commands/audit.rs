//! `palyra audit`

pub(crate) mod list;
mod verify;

use crate::context::Context;
use crate::failure::Outcome;

/// Read the audit trail, and check it
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Verify(verify::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(arguments) => list::run(context, arguments).await,
        Command::Verify(_) => verify::run(context).await,
    }
}
