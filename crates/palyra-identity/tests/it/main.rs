//! Identity, tested from outside: one conformance suite over both engines.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a failure is the verdict")]

mod cache;
mod codes;
mod lineage;
mod logins;
mod once;
mod principals;
mod restored;
mod retention;
mod tokens;
mod world;
