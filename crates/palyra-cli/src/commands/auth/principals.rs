//! `palyra auth principals`

mod add;
mod disable;
mod list;

use palyra_common::Principal;

use crate::context::Context;
use crate::failure::Outcome;

/// Look after who else may do what
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Add(add::Arguments),
    Disable(disable::Arguments),
}

pub(super) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(_) => list::run(context).await,
        Command::Add(arguments) => add::run(context, arguments).await,
        Command::Disable(arguments) => disable::run(context, arguments).await,
    }
}

/// `anna` is short for `operator:anna`.
pub(super) fn person(text: &str) -> Result<Principal, String> {
    let whole = if text.contains(':') { text.to_owned() } else { format!("operator:{text}") };
    whole.parse().map_err(|error: palyra_common::ids::PrincipalParseError| error.to_string())
}
