//! `palyra auth`

mod login_link;
mod logins;
mod principals;
mod tokens;
mod whoami;

use crate::context::Context;
use crate::failure::Outcome;

/// See who you are, and look after tokens, logins and who else may do what
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Whoami(whoami::Arguments),
    #[command(subcommand)]
    Tokens(tokens::Command),
    #[command(subcommand)]
    Logins(logins::Command),
    #[command(subcommand)]
    Principals(principals::Command),
    LoginLink(login_link::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Whoami(_) => whoami::run(context).await,
        Command::Tokens(command) => tokens::run(context, command).await,
        Command::Logins(command) => logins::run(context, command).await,
        Command::Principals(command) => principals::run(context, command).await,
        Command::LoginLink(arguments) => login_link::run(context, arguments).await,
    }
}

/// Words of the vocabulary, for a cell.
fn joined<T: std::fmt::Display>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
