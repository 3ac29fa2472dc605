//! `palyra auth logins`

mod end;
mod list;

use crate::context::Context;
use crate::failure::Outcome;

/// Look after logins of browsers
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    End(end::Arguments),
}

pub(super) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(_) => list::run(context).await,
        Command::End(arguments) => end::run(context, arguments).await,
    }
}
