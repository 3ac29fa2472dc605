//! `palyrad`: the composition root. It reads the configuration, opens the database, starts the
//! services and stops them again; what they do is in the crates below.

mod config;
mod failure;
mod flags;
mod log;
mod serve;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use flags::Flags;

fn main() -> ExitCode {
    let flags = Flags::parse();
    if let Err(failure) = log::start(&flags.log) {
        return report(&failure);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report(&failure::Failure::Startup(error.into())),
    };
    let served = runtime.block_on(serve::serve(&flags));
    // Whoever stops us early does not wait for a thread that still opens the database.
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

/// Says what failed, under which code, and what to do.
fn report(failure: &failure::Failure) -> ExitCode {
    // Nobody is left to tell if standard error is closed.
    let _ = std::io::stderr().write_all(failure.to_string().as_bytes());
    failure.exit_code()
}
