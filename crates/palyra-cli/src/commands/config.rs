//! `palyra config`

mod change;
mod explain;
mod get;
mod set;
mod show;
pub(crate) mod source;
mod unset;
mod validate;

use crate::context::Context;
use crate::failure::Outcome;

/// Look at the configuration, check it and change it
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Show(show::Arguments),
    Get(get::Arguments),
    Set(set::Arguments),
    Unset(unset::Arguments),
    Validate(validate::Arguments),
    Explain(explain::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Show(arguments) => show::run(context, &arguments).await,
        Command::Get(arguments) => get::run(context, &arguments).await,
        Command::Set(arguments) => set::run(context, arguments).await,
        Command::Unset(arguments) => unset::run(context, arguments).await,
        Command::Validate(arguments) => validate::run(context, &arguments),
        Command::Explain(arguments) => explain::run(context, &arguments).await,
    }
}
