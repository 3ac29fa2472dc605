//! What tools share: reading their arguments, and working where waiting is allowed.

use palyra_common::runtime_contracts::{RiskLevel, ToolEffect, ToolReach};
use serde::Deserialize;

use crate::tool::{Invocation, ToolFault, Weighed};

/// The arguments of a call.
pub(super) fn arguments<'a, T: Deserialize<'a>>(call: &'a Invocation) -> Result<T, ToolFault> {
    let wrong =
        |what: String| ToolFault::new(format!("the arguments are not what is taken: {what}"));
    match call.arguments.is_object() {
        true => T::deserialize(&call.arguments).map_err(|error| wrong(error.to_string())),
        // A list of values without their names would do for serde.
        false => Err(wrong("an object is".to_owned())),
    }
}

/// Does work that waits for the disk. It is done even if nobody waits for it any more.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolFault> + Send + 'static,
) -> Result<T, ToolFault> {
    let lost = |_| Err(ToolFault::new("the work on files did not end well; try again"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(lost)
}

/// What reading weighs.
pub(super) fn reads(reach: ToolReach, summary: String) -> Weighed {
    Weighed {
        effect: ToolEffect::ReadOnly,
        risk: RiskLevel::Low,
        reach,
        summary,
        bindings: Vec::new(),
        with_result: false,
    }
}
