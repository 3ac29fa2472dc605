//! `palyra`: the command line. Each command is one file in `commands`; what they share (output,
//! errors, prompts, the way to the daemon) is beside it.

mod argument;
mod cli;
mod commands;
mod context;
mod count;
mod exit;
mod failure;
mod fields;
mod files;
mod hint;
mod log_file;
mod money;
mod output;
mod page;
mod palyrad;
mod patience;
mod prompt;
mod service;
mod table;
mod tape_line;
mod when;

use std::process::ExitCode;

use clap::Parser;

use cli::Cli;
use commands::daemon::holder;
use context::Context;
use failure::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&cli::as_typed(error)),
    };
    let context = Context::new(cli.globals);
    // One thread: a command waits for one thing at a time, and starting is quick.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(commands::run(&context, cli.command)),
        Err(error) => Err(Failure::machine(format!("no runtime could be started: {error}"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => holder::explained(&context, failure).report(context.out()),
    }
}
