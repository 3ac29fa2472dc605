//! `palyra message`

mod read;
mod send;

use crate::context::Context;
use crate::failure::Outcome;

/// Send messages, and read what was said
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Send(send::Arguments),
    Read(read::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Send(arguments) => send::run(context, arguments).await,
        Command::Read(arguments) => read::run(context, arguments).await,
    }
}
