//! `palyra runs`

mod list;
mod show;
mod tail;
mod wish;

use crate::context::Context;
use crate::failure::Outcome;

/// See what agents do, and stop it
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Tail(tail::Arguments),
    Abort(wish::AbortArguments),
    Pause(wish::PauseArguments),
    Resume(wish::ResumeArguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(arguments) => list::run(context, arguments).await,
        Command::Show(arguments) => show::run(context, arguments).await,
        Command::Tail(arguments) => tail::run(context, arguments).await,
        Command::Abort(arguments) => wish::abort(context, arguments).await,
        Command::Pause(arguments) => wish::pause(context, arguments).await,
        Command::Resume(arguments) => wish::resume(context, arguments).await,
    }
}
