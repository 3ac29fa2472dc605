//! The way of a message through the router, on both engines.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure is the verdict")]

mod acp;
mod engine;
mod mirror;
mod router;
mod rules;
mod world;
