//! The real binary, run in a small workspace of its own.

#![allow(clippy::unwrap_used, reason = "here a failure is the test's own verdict")]

mod bench;
mod bootstrap;
mod fixture;
mod help;
mod install;
mod tidy;
