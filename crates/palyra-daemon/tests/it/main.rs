//! `palyrad` as a process: started, refused, stopped, killed.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure is the verdict, and what children print is read"
)]

mod access;
mod acp;
mod aftermath;
mod agents;
mod backups;
mod channels;
mod channels_crash;
mod config;
mod copies;
mod daemon;
mod draining;
mod forged;
mod fuzz;
mod gateway;
mod grpc;
mod grpc_calls;
mod grpc_stock;
mod lifecycle;
mod lineage;
mod make_run;
mod once;
mod people;
mod preflight;
mod refusals;
mod restore;
mod room;
mod run_stream;
mod runs;
mod runs_crash;
mod scopes;
mod secrets;
mod standing;
mod storage_faults;
mod subscribers;
mod upgrade;
