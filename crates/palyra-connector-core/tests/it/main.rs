//! Connectors, tested from outside: one conformance suite over both engines.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a failure is the verdict")]

mod connectors;
mod feed;
mod inbound;
mod outbox;
mod parts;
mod platform;
mod queue;
mod restored;
mod retention;
mod supervisor;
mod world;
