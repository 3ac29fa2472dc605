//! The connectors that Palyra comes with.
//!
//! - [`BuiltIn`]: makes the adapter of a connector by its kind.
//! - [`echo`]: a platform on this machine, to try things out and to see them fail.

#![warn(missing_docs)]

pub mod echo;
mod registry;

pub use registry::{BuiltIn, KINDS};
