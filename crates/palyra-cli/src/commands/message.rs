//! `palyra message`

mod read;
mod search;
mod send;

use crate::context::Context;
use crate::failure::Outcome;

/// Send messages, and read or search what was said
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Send(send::Arguments),
    Read(read::Arguments),
    Search(search::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Send(arguments) => send::run(context, arguments).await,
        Command::Read(arguments) => read::run(context, arguments).await,
        Command::Search(arguments) => search::run(context, arguments).await,
    }
}
