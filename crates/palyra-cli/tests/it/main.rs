//! `palyra` as a process, alone and with a real `palyrad`.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a failure is the verdict")]

mod access;
mod alone;
mod backup;
mod bundle;
mod channels;
mod chat;
mod config;
mod daemon;
mod hints;
mod json;
mod master_key;
mod once;
mod postgres_away;
mod replay;
mod runs;
mod secrets;
mod service;
mod shapes;
mod terminal;
mod world;
