//! What tests of this workspace share: a throw-away Postgres and a proxy that cuts connections at
//! COMMIT, an S3 server and a provider of models with faults, child processes to kill and restart, crash points, a fake
//! clock, printed seeds, full disks, stories on every engine, figures of benches.
//!
//! A dev-dependency only. It never links a database driver: Postgres is driven through its own
//! installed programs. Whatever is started here ends and is removed with the test process, also
//! when that process is killed with SIGKILL.

mod account;
mod engines;
mod entropy;
mod guard;
mod tool;

pub mod clock;
pub mod crash;
pub mod figures;
pub mod fs;
pub mod model_sim;
pub mod postgres;
pub mod process;
pub mod s3;
pub mod seed;
