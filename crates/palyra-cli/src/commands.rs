//! The commands, one file each.

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod backup;
pub(crate) mod bundle;
pub(crate) mod channels;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod daemon;
pub(crate) mod dashboard;
pub(crate) mod deployment;
pub(crate) mod doctor;
pub(crate) mod help;
pub(crate) mod message;
pub(crate) mod models;
pub(crate) mod router;
pub(crate) mod runs;
pub(crate) mod secrets;
pub(crate) mod sessions;
pub(crate) mod status;

use crate::cli::Command;
use crate::context::Context;
use crate::failure::Outcome;

pub(crate) async fn run(context: &Context, command: Command) -> Outcome {
    match command {
        Command::Status(_) => status::run(context).await,
        Command::Chat(arguments) => chat::run(context, arguments).await,
        Command::Sessions(command) => sessions::run(context, command).await,
        Command::Runs(command) => runs::run(context, command).await,
        Command::Approvals(command) => approvals::run(context, command).await,
        Command::Agents(command) => agents::run(context, command).await,
        Command::Models(command) => models::run(context, command).await,
        Command::Doctor(arguments) => doctor::run(context, arguments).await,
        Command::Config(command) => config::run(context, command).await,
        Command::Daemon(command) => daemon::run(context, command).await,
        Command::Auth(command) => auth::run(context, command).await,
        Command::Channels(command) => channels::run(context, command).await,
        Command::Router(command) => router::run(context, command).await,
        Command::Message(command) => message::run(context, command).await,
        Command::Secrets(command) => secrets::run(context, command).await,
        Command::Deployment(command) => deployment::run(context, command).await,
        Command::Audit(command) => audit::run(context, command).await,
        Command::Backup(command) => backup::run(context, command).await,
        Command::Dashboard(arguments) => dashboard::run(context, arguments).await,
        Command::Bundle(arguments) => bundle::run(context, arguments).await,
        Command::Completions(arguments) => completions::run(context, &arguments),
        Command::Help(arguments) => help::run(context, &arguments),
    }
}
