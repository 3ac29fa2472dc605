//! `palyra deployment`

mod explain;
mod preflight;
mod profiles;

use crate::context::Context;
use crate::failure::Outcome;

/// See how Palyra can be deployed, and check this machine for it
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Profiles(profiles::Arguments),
    Explain(explain::Arguments),
    Preflight(preflight::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Profiles(_) => profiles::run(context),
        Command::Explain(arguments) => explain::run(context, &arguments),
        Command::Preflight(_) => preflight::run(context),
    }
}
