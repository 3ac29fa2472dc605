//! The command line, down to the commands; each has its own arguments in its own file.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};
use palyra_client::Host;
use palyra_common::data_dir::VARIABLE;

use crate::commands::{
    agents, approvals, audit, auth, backup, bundle, channels, chat, completions, config, daemon,
    dashboard, deployment, doctor, help, message, models, router, runs, secrets, sessions, status,
};
use crate::exit;

#[cfg(test)]
mod tests;

const EXAMPLES: &str = "\
Examples:
  palyra daemon start               start the daemon in the background
  palyra chat                       talk to an agent
  palyra dashboard                  log in to the console with a browser
  palyra doctor                     check this machine and the daemon
  palyra --host https://palyra.example --token-file token.txt status

`palyra help output` describes the output for programs, `palyra help` the exit codes.";

/// Talk to a Palyra daemon, and look after it.
///
/// On the machine of the daemon no credential is needed: it is reached over a socket in its data
/// directory that only its owner may open. Elsewhere name it with --host, and give an API token in a
/// file with --token-file or in the variable PALYRA_TOKEN.
#[derive(Debug, Parser)]
#[command(
    name = "palyra",
    verbatim_doc_comment,
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE),
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is wrong with what was typed. A variable counts as an argument: clap would show it in how a
/// command is used, and no help where nothing else is given.
pub(crate) fn as_typed(error: clap::Error) -> clap::Error {
    let without_variable = |argument: clap::Arg| {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        argument.env(None::<&'static str>).help(format!("{help} [env: {VARIABLE}]"))
    };
    let typed = Cli::command().mut_arg("data_dir", without_variable).try_get_matches();
    // It may be the variable that is wrong.
    typed.err().unwrap_or(error)
}

/// What every command understands.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Globals {
    /// Where the daemon keeps its files
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        env = "PALYRA_DATA_DIR",
        hide_env_values = true
    )]
    pub(crate) data_dir: Option<PathBuf>,

    /// The daemon's address, as http://127.0.0.1:7142, instead of its socket
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) host: Option<Host>,

    /// A file with the API token for --host; without it, the variable PALYRA_TOKEN
    #[arg(long, global = true, value_name = "FILE", requires = "host")]
    pub(crate) token_file: Option<PathBuf>,

    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Status(status::Arguments),
    Chat(chat::Arguments),
    #[command(subcommand)]
    Sessions(sessions::Command),
    #[command(subcommand)]
    Runs(runs::Command),
    #[command(subcommand)]
    Approvals(approvals::Command),
    #[command(subcommand)]
    Agents(agents::Command),
    #[command(subcommand)]
    Models(models::Command),
    Doctor(doctor::Arguments),
    #[command(subcommand)]
    Config(config::Command),
    #[command(subcommand)]
    Daemon(daemon::Command),
    #[command(subcommand)]
    Auth(auth::Command),
    #[command(subcommand)]
    Channels(channels::Command),
    #[command(subcommand)]
    Router(router::Command),
    #[command(subcommand)]
    Message(message::Command),
    #[command(subcommand)]
    Secrets(secrets::Command),
    #[command(subcommand)]
    Deployment(deployment::Command),
    #[command(subcommand)]
    Audit(audit::Command),
    #[command(subcommand)]
    Backup(backup::Command),
    Dashboard(dashboard::Arguments),
    Bundle(bundle::Arguments),
    Completions(completions::Arguments),
    Help(help::Arguments),
}
