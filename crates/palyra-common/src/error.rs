//! Stable error codes and the envelope in which a user meets one.
//!
//! A code is a promise: scripts match on it, `docs/errors.md` explains it, and it is never reused
//! for something else. All of them are listed in `error/registry.rs` and nowhere else.

mod code;
mod envelope;
mod exit;
mod registry;
#[cfg(test)]
mod tests;

pub use code::UnknownErrorCode;
pub use envelope::StableErrorEnvelope;
pub use exit::Exit;
pub use registry::ErrorCode;
