//! `palyra sessions`

mod archive;
mod fork;
mod list;
mod rename;
mod reset;
mod show;

use crate::context::Context;
use crate::failure::Outcome;

/// Look at conversations with agents, name them, go on from them and put them away
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Rename(rename::Arguments),
    Fork(fork::Arguments),
    Reset(reset::Arguments),
    Archive(archive::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(arguments) => list::run(context, arguments).await,
        Command::Show(arguments) => show::run(context, arguments).await,
        Command::Rename(arguments) => rename::run(context, arguments).await,
        Command::Fork(arguments) => fork::run(context, arguments).await,
        Command::Reset(arguments) => reset::run(context, arguments).await,
        Command::Archive(arguments) => archive::run(context, arguments).await,
    }
}
