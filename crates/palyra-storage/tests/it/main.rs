//! Storage, tested from outside: one conformance suite over both engines, and what happens when
//! processes are killed, disks fill up and servers go away.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure is the verdict, and what children print is read"
)]

mod backup;
mod conformance;
mod crash;
mod faults;
mod log;
mod migrations;
mod orderly_stop;
mod shelf;
mod world;
