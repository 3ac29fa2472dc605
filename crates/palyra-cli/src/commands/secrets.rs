//! `palyra secrets`

mod delete;
mod list;
mod name;
mod rotate_master;
mod set;

use crate::context::Context;
use crate::failure::Outcome;

/// Look after the vault: names are shown, values never
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Set(set::Arguments),
    List(list::Arguments),
    Delete(delete::Arguments),
    RotateMaster(rotate_master::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Set(arguments) => set::run(context, arguments).await,
        Command::List(_) => list::run(context).await,
        Command::Delete(arguments) => delete::run(context, arguments).await,
        Command::RotateMaster(arguments) => rotate_master::run(context, arguments).await,
    }
}
