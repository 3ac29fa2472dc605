//! `palyrad`: the composition root. It reads the configuration, opens the database, starts the
//! services and stops them again; what they do is in the crates below.

mod config;
mod failure;
mod flags;
mod serve;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use flags::Flags;

fn main() -> ExitCode {
    let flags = Flags::parse();
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr);
    log.with_env_filter(flags.log.clone()).init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report(&failure::Failure::Startup(error.into())),
    };
    match runtime.block_on(serve::serve(&flags)) {
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
