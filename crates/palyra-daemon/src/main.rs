//! `palyrad`: the composition root. It reads the configuration, opens the database, starts the
//! services and stops them again; what they do is in the crates below.

mod acp;
mod actions;
mod aftermath;
mod app;
mod audit;
mod channels;
mod config;
mod config_command;
mod deployment;
mod doctor;
mod failure;
mod flags;
mod folder;
mod hosts;
mod log;
mod metrics;
mod readers;
mod ready;
mod replay;
mod restore;
mod runs;
mod runtime_file;
mod serve;
mod settings;
mod standing;
mod transport;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use failure::Failure;
use flags::{Command, Flags};

fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => return usage(&error),
    };
    match run(&flags) {
        Ok(code) => code,
        Err(failure) => {
            // Nobody is left to tell if standard error is closed.
            let _ = std::io::stderr()
                .write_all(flags.address().complete(&failure.to_string()).as_bytes());
            failure.exit().code().into()
        }
    }
}

fn run(flags: &Flags) -> Result<ExitCode, Failure> {
    flags.check()?;
    match &flags.command {
        Some(Command::Openapi) => {
            print(&transport::http::openapi());
            return Ok(ExitCode::SUCCESS);
        }
        Some(Command::Config(command)) => return config_command::run(flags, command),
        Some(Command::Preflight { json }) => return doctor::preflight(flags, *json),
        Some(Command::Restore { file, json }) => {
            runtime()?.block_on(restore::restore(flags, file, *json))?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Command::VerifyBackup { file, json }) => return restore::verify(file, *json),
        Some(Command::ReplayTape { file }) => return replay::run(file),
        None => {}
    }
    let data_dir = flags.data_dir().ok_or(Failure::NoDataDir)?;
    // Before anything in it is believed.
    folder::check(&data_dir)?;
    let given = flags.given();
    let loaded = config::load(&given, &data_dir)?;
    let runtime = runtime()?;
    let served = runtime.block_on(serve::serve(given, &data_dir, loaded));
    // Whoever stops us early does not wait for a thread that still opens the database.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::Startup(error.into()))
}

/// What clap says, without the password of a URL that stands where none belongs.
fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let text = palyra_vault::Redactor::new().redact(&text).into_owned();
    if error.use_stderr() {
        let _ = std::io::stderr().write_all(text.as_bytes());
        return ExitCode::from(2);
    }
    print(&text);
    ExitCode::SUCCESS
}

/// Writes what was asked for. A reader that has gone has read enough.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
