//! Whether this node may go on.

use palyra_storage::lease::{KeeperHandle, NodeState};

use crate::app::Live;
use crate::failure::Failure;

/// Returns when this node must not go on: the schema has moved on beyond what this program may
/// use, or nobody renews its leases any more. Tells once when renewals begin to fail, and once
/// when they succeed again.
pub(super) async fn must_stop(
    mut node: KeeperHandle,
    healthy: &Live<bool>,
) -> Result<&'static str, Failure> {
    let mut failing = false;
    while let Some(state) = node.changed().await {
        match state {
            NodeState::TooOld { .. } => return Ok("the schema is too new for this release"),
            NodeState::Failing { error } if !failing => {
                failing = true;
                healthy.store(false);
                tracing::error!(error, "this node is losing its leases");
            }
            NodeState::Failing { .. } => {}
            NodeState::Healthy => {
                failing = false;
                healthy.store(true);
                tracing::info!("this node renews its leases again");
            }
        }
    }
    Err(Failure::ServiceEnded("leases"))
}

#[cfg(test)]
mod tests;
