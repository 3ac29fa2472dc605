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

type Part = (&'static str, fn(&tokio::runtime::Runtime));

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let parts: [Part; 4] = [
        ("drain", drain::run),
        ("parallel", parallel::run),
        ("growth", growth::run),
        ("idle", idle::run),
    ];
    // Whoever looks for the cause of a figure names its part, and runs nothing else.
    let wanted: Vec<_> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for (name, run) in parts {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            run(&runtime);
        }
    }
}
