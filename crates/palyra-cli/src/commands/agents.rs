//! `palyra agents`

mod add;
mod list;
mod remove;
mod set;
mod show;
mod spec;

use crate::context::Context;
use crate::failure::Outcome;

/// See who does the work, and say how
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Add(add::Arguments),
    Set(set::Arguments),
    Remove(remove::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(arguments) => list::run(context, arguments).await,
        Command::Show(arguments) => show::run(context, arguments).await,
        Command::Add(arguments) => add::run(context, arguments).await,
        Command::Set(arguments) => set::run(context, arguments).await,
        Command::Remove(arguments) => remove::run(context, arguments).await,
    }
}
