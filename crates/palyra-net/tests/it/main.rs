//! The guard, tested from outside against servers on loopback.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure is the verdict, and what children print is read"
)]

mod answers;
mod limits;
mod names;
mod proxies;
mod redirects;
mod server;
mod tls;
mod world;
