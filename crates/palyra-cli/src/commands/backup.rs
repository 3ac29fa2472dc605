//! `palyra backup`

mod create;
mod restore;
mod verify;

use crate::context::Context;
use crate::failure::Outcome;

/// Make backups, check them and restore from them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Create(create::Arguments),
    Verify(verify::Arguments),
    Restore(restore::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Create(arguments) => create::run(context, arguments).await,
        Command::Verify(arguments) => verify::run(context, &arguments),
        Command::Restore(arguments) => restore::run(context, arguments).await,
    }
}
