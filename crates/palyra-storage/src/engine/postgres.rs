//! Postgres: a pool of connections, each on a thread of its own, one transaction per unit.

pub(crate) mod connect;
pub(crate) mod doorbell;
mod fault;
mod marks;
pub(crate) mod migrate;
mod statements;
pub(crate) mod worker;
