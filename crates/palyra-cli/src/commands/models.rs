//! `palyra models`

mod list;
mod test;

use crate::context::Context;
use crate::failure::Outcome;

/// See which models agents can think with, and try them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Test(test::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(_) => list::run(context).await,
        Command::Test(arguments) => test::run(context, arguments).await,
    }
}
