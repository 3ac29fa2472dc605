//! Instants and lengths of time as plain values, and the port through which time is told.

mod duration;
mod timestamp;

pub use duration::{Duration, DurationParseError};
pub use timestamp::Timestamp;

/// Tells the time.
///
/// Layer 0 only owns the port; the daemon implements it over the system clock and tests over one
/// that they move by hand. Successive calls may go backwards, because wall clocks do: code that
/// measures a length of time uses [`Timestamp::since`], which stops at zero.
pub trait Clock: Send + Sync {
    /// The current instant.
    fn now(&self) -> Timestamp;
}
