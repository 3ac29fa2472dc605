//! `palyra daemon`

pub(crate) mod holder;
mod install;
mod kept;
mod last_key;
mod logs;
mod preflight;
mod restart;
mod run_here;
pub(crate) mod running;
mod start;
mod status;
mod stop;
mod uninstall;

use crate::context::Context;
use crate::failure::Outcome;

/// Start, stop and watch the daemon of this machine
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Run(run_here::Arguments),
    Start(start::Arguments),
    Stop(stop::Arguments),
    Restart(restart::Arguments),
    Status(status::Arguments),
    Logs(logs::Arguments),
    Install(install::Arguments),
    Uninstall(uninstall::Arguments),
}

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Run(arguments) => run_here::run(context, arguments),
        Command::Start(arguments) => start::run(context, arguments).await,
        Command::Stop(arguments) => stop::run(context, &arguments).await,
        Command::Restart(arguments) => restart::run(context, arguments).await,
        Command::Status(_) => status::run(context).await,
        Command::Logs(arguments) => logs::run(context, &arguments).await,
        Command::Install(arguments) => install::run(context, arguments).await,
        Command::Uninstall(arguments) => uninstall::run(context, &arguments).await,
    }
}
