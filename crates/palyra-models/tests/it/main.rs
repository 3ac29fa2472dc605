//! Providers against the simulator: both dialects, every fault, and what becomes of a list of models.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a failure is the verdict")]

mod canary;
mod cancel;
mod faults;
mod list;
mod quirks;
mod stream;
mod world;
