//! What a run costs beside what its model costs, and beside a raw database that commits the same
//! rows. Each figure is measured together with its reference, turn by turn in one run.
#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

#[path = "../shared/commits.rs"]
mod commits;
mod fanout;
mod growth;
mod model;
mod node;
mod overhead;
#[path = "../shared/place.rs"]
mod place;
mod raw;
mod throughput;
mod waiting;

type Part = (&'static str, fn(&tokio::runtime::Runtime));

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    commits::count();
    let parts: [Part; 5] = [
        ("overhead", overhead::run),
        ("throughput", throughput::run),
        ("growth", growth::run),
        ("fanout", fanout::run),
        ("waiting", waiting::run),
    ];
    // Whoever looks for the cause of a figure names its part, and runs nothing else.
    let wanted: Vec<_> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for (name, run) in parts {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            run(&runtime);
        }
    }
}
