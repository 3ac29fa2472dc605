//! `palyra runs`

mod diff;
mod export;
mod list;
mod replay;
mod show;
mod tail;
mod tasks;
mod wish;

use crate::context::Context;
use crate::failure::Outcome;

/// See what agents do, stop it, and replay it
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Tail(tail::Arguments),
    Abort(wish::AbortArguments),
    Pause(wish::PauseArguments),
    Resume(wish::ResumeArguments),
    Replay(replay::Arguments),
    Diff(diff::Arguments),
    Export(export::Arguments),
    Tasks(tasks::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(arguments) => list::run(context, arguments).await,
        Command::Show(arguments) => show::run(context, arguments).await,
        Command::Tail(arguments) => tail::run(context, arguments).await,
        Command::Abort(arguments) => wish::abort(context, arguments).await,
        Command::Pause(arguments) => wish::pause(context, arguments).await,
        Command::Resume(arguments) => wish::resume(context, arguments).await,
        Command::Replay(arguments) => replay::run(context, arguments).await,
        Command::Diff(arguments) => diff::run(context, arguments).await,
        Command::Export(arguments) => export::run(context, arguments).await,
        Command::Tasks(arguments) => tasks::run(context, arguments).await,
    }
}
