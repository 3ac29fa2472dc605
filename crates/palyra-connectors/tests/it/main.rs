//! What the built-in connectors have to keep.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a failure is the verdict")]

mod conformance;
