//! A2UI v0.9: user interface that an agent pushes, as messages about surfaces.
//!
//! What is published as JSON Schema, the messages and the basic catalogue of components and functions,
//! stands here as a table ([`catalogue`]) that one function reads ([`shape`]), because a refusal has to
//! say where the fault is and what is wanted there. Besides what is published there are limits of our own.

mod action;
mod card;
mod catalogue;
mod data;
mod fault;
mod format;
mod message;
mod render;
mod shape;
mod surface;
#[cfg(test)]
mod tests;

pub use action::UserAction;
pub use card::{Button, Card, Field, Input};
pub use fault::{Fault, FaultKind};
pub use message::{Change, Component, DataChange, Message};
pub use render::render;
pub use surface::{Surface, Surfaces};

/// The version that is spoken.
pub const VERSION: &str = "v0.9";

/// The name of the basic catalogue, the only one that is known here.
pub const BASIC_CATALOGUE: &str = "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json";

/// The longest message, in bytes of JSON.
pub const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// How deep values are in each other in a message, and components in a surface.
pub const MAX_NESTING: usize = 32;

/// How many components a surface has at most.
pub const MAX_COMPONENTS: usize = 512;

/// How many surfaces a session has at most.
pub const MAX_SURFACES: usize = 16;

/// The longest id of a component, and name of an action, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// The component that a surface is drawn from.
const ROOT: &str = "root";
