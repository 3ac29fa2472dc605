//! The vault, tested from outside on both engines: what it keeps, what it notices, what it never
//! shows, and what is left when a process dies while the master key is changed.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure is the verdict, and what children print is read"
)]

mod canary;
mod crash;
mod key_file;
mod keyring;
mod keys;
mod lost_key;
mod redaction;
mod rotation;
mod secrets;
mod tampering;
mod world;
