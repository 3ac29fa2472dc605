//! `palyra auth tokens`

mod create;
mod list;
mod revoke;

use crate::context::Context;
use crate::failure::Outcome;

/// Look after API tokens, which let programs in
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Create(create::Arguments),
    Revoke(revoke::Arguments),
}

pub(super) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(_) => list::run(context).await,
        Command::Create(arguments) => create::run(context, arguments).await,
        Command::Revoke(arguments) => revoke::run(context, arguments).await,
    }
}
