//! What readers of the event feed are told of runs: that one did not end well, as somebody may want to
//! look at it. Never of every run: the number of an event is a lock that is held until the commit. And
//! of the router: that somebody has changed its rules.

use palyra_common::ids::{ConnectorId, RuleId};
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

/// What was done to a rule of the router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleEvent {
    Added,
    Changed,
    Removed,
}

/// Somebody has decided who of a connector reaches which agent.
pub(crate) fn rule(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    (id, event): (RuleId, RuleEvent),
    at: Timestamp,
) {
    let kind = match event {
        RuleEvent::Added => "router.rule_added",
        RuleEvent::Changed => "router.rule_changed",
        RuleEvent::Removed => "router.rule_removed",
    };
    let (kind, subject) = (kind.to_owned(), format!("connector:{connector}"));
    tx.emit(NewEvent { at, kind, subject, body: json!({ "rule": id }) });
}
