//! `palyra auth`

mod tokens;
mod whoami;

use crate::context::Context;
use crate::failure::Outcome;

/// See who you are, and look after API tokens
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Whoami(whoami::Arguments),
    #[command(subcommand)]
    Tokens(tokens::Command),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Whoami(_) => whoami::run(context).await,
        Command::Tokens(command) => tokens::run(context, command).await,
    }
}

/// Words of the vocabulary, for a cell.
fn joined<T: std::fmt::Display>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
