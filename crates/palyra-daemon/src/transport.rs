//! How the daemon is reached.

pub(crate) mod grpc;
pub(crate) mod http;
pub(crate) mod listen;
mod patient;
mod room;
