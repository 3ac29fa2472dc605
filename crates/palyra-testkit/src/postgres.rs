//! Throw-away Postgres servers from the installed programs, and one database per test.

mod binaries;
mod cluster;
mod database;
mod lease;
mod proxy;
mod server;

pub use database::{DatabaseLocale, TestDatabase};
pub use proxy::{CutCounts, CutKind, CutPlan, CutProxy};
pub use server::{PostgresServer, StopMode};
