//! What readers of the event feed are told of runs: that one did not end well, as somebody may want to
//! look at it. Never of every run: the number of an event is a lock that is held until the commit.

use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase};
use palyra_common::time::Timestamp;
use palyra_storage::Tx;
use palyra_storage::events::NewEvent;
use serde_json::json;

use crate::store::runs::Run;

/// A run has ended in this phase.
pub(crate) fn ended(
    tx: &mut Tx<'_>,
    run: &Run,
    (phase, end): (RunLifecyclePhase, RunEnd),
    at: Timestamp,
) {
    match phase {
        RunLifecyclePhase::Failed | RunLifecyclePhase::Aborted | RunLifecyclePhase::Expired => {
            let body = json!({ "session": run.session, "agent": run.agent, "end": end });
            let (kind, subject) = (format!("run.{phase}"), format!("run:{}", run.id));
            tx.emit(NewEvent { at, kind, subject, body });
        }
        RunLifecyclePhase::Queued
        | RunLifecyclePhase::Running
        | RunLifecyclePhase::WaitingForApproval
        | RunLifecyclePhase::Paused
        | RunLifecyclePhase::Completed => {}
    }
}
