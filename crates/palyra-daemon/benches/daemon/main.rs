//! What the daemon costs: to start, to keep, and per request. It runs as a process, as users run
//! it; beside it runs a bare axum server, so that a noisy machine disturbs both alike.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench that fails should stop"
)]

mod bare;
mod bare_stream;
mod binaries;
mod daemon;
mod http;
mod idle;
mod load;
mod proc;
mod proto;
mod run_stream;
mod start;

/// Together they may make more requests than any machine answers: 500 per second each.
const TOKENS: usize = 256;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(size) = bare::asked_for(&arguments) {
        return bare::serve(size);
    }
    if let Some(tape) = bare_stream::asked_for(&arguments) {
        return bare_stream::serve(&tape);
    }
    // `cargo test --benches` only wants to know that it builds.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    binaries::run();
    let folder = palyra_testkit::fs::private_tempdir().unwrap();
    start::run(folder.path());
    let daemon = daemon::Daemon::start(folder.path());
    // As many that none of them asks more often than one may.
    let tokens: Vec<String> = (0..TOKENS).map(|_| daemon.token()).collect();
    let token = &tokens[0];
    let status = daemon.status(token);
    let bare = bare::Bare::start(status.len());
    http::run(&daemon, &tokens, &bare);
    run_stream::run(folder.path());
    // A daemon that has not been under load: memory that the load took may not come back.
    drop(daemon);
    let daemon = daemon::Daemon::start(folder.path());
    idle::run(&daemon, token, &bare);
}
