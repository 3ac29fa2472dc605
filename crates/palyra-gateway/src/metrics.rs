//! The names of this crate's figures, and where they are counted.

use metrics::{counter, describe_counter, describe_gauge, gauge};
use palyra_common::runtime_contracts::{
    AuxiliaryReason, AuxiliaryTaskKind, AuxiliaryTaskState, RunEnd, RunLifecyclePhase,
};
use palyra_models::Usage;
use palyra_policy::run::is_final;
use palyra_storage::{Database, StorageError};

use crate::counts::Counts;

/// Runs that have not ended, by phase.
pub const RUNS: &str = "palyra_runs";
/// Runs that have ended here, by reason.
pub const ENDED: &str = "palyra_runs_ended_total";
/// Questions that wait for a human.
pub const QUESTIONS: &str = "palyra_approvals_waiting";
/// Tokens that models have read and written, by model.
pub const TOKENS: &str = "palyra_model_tokens_total";
/// What their answers cost, in millionths of a dollar, by model.
pub const COST: &str = "palyra_model_cost_micros_total";

/// Auxiliary tasks that have not ended, by state.
pub const TASKS: &str = "palyra_auxiliary_tasks";
/// Auxiliary tasks that have ended here, by kind, state and reason.
pub const TASKS_ENDED: &str = "palyra_auxiliary_tasks_ended_total";

/// Tells whoever collects figures what these mean.
pub fn describe() {
    describe_gauge!(RUNS, "Runs that have not ended, by phase");
    describe_counter!(ENDED, "Runs that have ended on this node, by reason");
    describe_gauge!(QUESTIONS, "Questions that wait for a human");
    describe_gauge!(TASKS, "Auxiliary tasks that have not ended, by state");
    describe_counter!(TASKS_ENDED, "Auxiliary tasks that have ended on this node");
    describe_counter!(TOKENS, "Tokens that models have read and written for this node");
    describe_counter!(COST, "What answers to this node cost, in millionths of a dollar");
}

/// Reads off what is not counted while it happens.
pub async fn observe(db: &Database) -> Result<(), StorageError> {
    let counts = Counts::read(db).await?;
    for phase in RunLifecyclePhase::ALL {
        if !is_final(*phase) {
            gauge!(RUNS, "phase" => phase.as_str()).set(counts.of(*phase) as f64);
        }
    }
    let open = [AuxiliaryTaskState::Pending, AuxiliaryTaskState::Running];
    for state in open {
        gauge!(TASKS, "state" => state.as_str()).set(counts.tasks(state) as f64);
    }
    gauge!(QUESTIONS).set(counts.questions as f64);
    Ok(())
}

/// A run has ended.
pub(crate) fn ended(end: RunEnd) {
    counter!(ENDED, "end" => end.as_str()).increment(1);
}

/// An auxiliary task has ended.
pub(crate) fn side_call(
    kind: AuxiliaryTaskKind,
    state: AuxiliaryTaskState,
    reason: Option<AuxiliaryReason>,
) {
    let reason = reason.map_or("", AuxiliaryReason::as_str);
    let (kind, state) = (kind.as_str(), state.as_str());
    counter!(TASKS_ENDED, "kind" => kind, "state" => state, "reason" => reason).increment(1);
}

/// A model has answered. Its name is one of the configuration, so there are few.
pub(crate) fn answered(model: &str, usage: Usage, micros: u64) {
    let tokens = [("input", usage.input_tokens), ("output", usage.output_tokens)];
    for (direction, count) in tokens {
        counter!(TOKENS, "model" => model.to_owned(), "direction" => direction).increment(count);
    }
    counter!(COST, "model" => model.to_owned()).increment(micros);
}
