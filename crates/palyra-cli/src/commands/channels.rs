//! `palyra channels`

mod add;
mod configure;
mod dead_letters;
mod drain;
mod entries;
mod events;
pub(super) mod follow;
mod list;
mod pause;
mod show;
mod switch;
mod test;
mod test_send;
mod unknown;

use crate::context::Context;
use crate::failure::Outcome;

/// See how channels do, and decide about messages that wait for somebody
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Add(add::Arguments),
    Configure(configure::Arguments),
    Enable(switch::EnableArguments),
    Disable(switch::DisableArguments),
    Events(events::Arguments),
    Pause(pause::PauseArguments),
    Resume(pause::ResumeArguments),
    Drain(drain::Arguments),
    Test(test::Arguments),
    TestSend(test_send::Arguments),
    #[command(subcommand)]
    DeadLetters(dead_letters::Command),
    #[command(subcommand)]
    Unknown(unknown::Command),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::List(_) => list::run(context).await,
        Command::Show(arguments) => show::run(context, arguments).await,
        Command::Add(arguments) => add::run(context, arguments).await,
        Command::Configure(arguments) => configure::run(context, arguments).await,
        Command::Enable(arguments) => switch::enable(context, arguments).await,
        Command::Disable(arguments) => switch::disable(context, arguments).await,
        Command::Events(arguments) => events::run(context, arguments).await,
        Command::Pause(arguments) => pause::pause(context, arguments).await,
        Command::Resume(arguments) => pause::resume(context, arguments).await,
        Command::Drain(arguments) => drain::run(context, arguments).await,
        Command::Test(arguments) => test::run(context, arguments).await,
        Command::TestSend(arguments) => test_send::run(context, arguments).await,
        Command::DeadLetters(command) => dead_letters::run(context, command).await,
        Command::Unknown(command) => unknown::run(context, command).await,
    }
}
