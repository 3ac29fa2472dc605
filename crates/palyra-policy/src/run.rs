//! The life of a run: the phases that it goes through, its state as a fold over its tape, and what
//! comes next.

mod next;
mod phase;
mod state;
#[cfg(test)]
mod tests;

pub use next::{Next, Recovery, Used, next, recovery, too_dear};
pub use palyra_common::tape::Limits;
pub use phase::{Event, is_final, phase};
pub use state::{CallState, CallStep, OpenTask, RunState};
