//! What tests of this workspace share: a throw-away Postgres.
//!
//! A dev-dependency only. It never links a database driver: Postgres is driven through its own
//! installed programs. Whatever is started here ends and is removed with the test process, also
//! when that process is killed with SIGKILL.

mod account;
mod entropy;
mod tool;

pub mod postgres;
