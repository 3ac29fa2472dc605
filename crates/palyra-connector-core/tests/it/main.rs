//! Connectors, tested from outside: one conformance suite over both engines.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure is the verdict, and what was measured is read"
)]

mod connections;
mod connectors;
mod deliveries;
mod feed;
mod inbound;
mod locked_out;
mod neighbours;
mod outbox;
mod parts;
mod platform;
mod queue;
mod restored;
mod retention;
mod said;
mod supervisor;
mod world;
