//! What it costs to bring messages in and out, beside a raw database that keeps the same promises
//! to itself. Each figure is measured together with its reference, turn by turn in one run.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

#[path = "../shared/commits.rs"]
mod commits;
mod drain;
mod growth;
mod idle;
#[path = "../../tests/it/mirror.rs"]
mod mirror;
mod node;
mod parallel;
#[path = "../shared/place.rs"]
mod place;
mod raw;

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    drain::run(&runtime);
    parallel::run(&runtime);
    growth::run(&runtime);
    idle::run(&runtime);
}
