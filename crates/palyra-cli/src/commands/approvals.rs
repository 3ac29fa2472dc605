//! `palyra approvals`

mod decide;
mod list;
pub(super) mod show;
mod watch;

use crate::context::Context;
use crate::failure::Outcome;

/// See what agents ask before they do it, and decide
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Approve(decide::ApproveArguments),
    Deny(decide::DenyArguments),
    Watch(watch::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(arguments) => list::run(context, arguments).await,
        Command::Show(arguments) => show::run(context, arguments).await,
        Command::Approve(arguments) => decide::approve(context, arguments).await,
        Command::Deny(arguments) => decide::deny(context, arguments).await,
        Command::Watch(arguments) => watch::run(context, arguments).await,
    }
}
