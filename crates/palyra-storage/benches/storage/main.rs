//! How much of the engines' raw speed storage keeps. Each figure is measured together with its
//! reference, turn by turn in one run, so that a noisy machine disturbs both alike.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

mod postgres;
mod queue;
mod sqlite;

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    sqlite::run(&runtime);
    postgres::run(&runtime);
}
