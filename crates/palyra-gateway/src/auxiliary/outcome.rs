//! What a task came to.

use palyra_common::auxiliary::AuxiliaryOutput;
use palyra_common::runtime_contracts::{AuxiliaryReason, AuxiliaryTaskState};
use palyra_storage::StorageError;

use crate::store::auxiliary_tasks::AuxiliaryTask;
use crate::store::from_text;

/// What a task came to. Who asks has to say what they do about each of these.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A model has met the contract.
    Made(AuxiliaryOutput),
    /// None has: this plain substitute takes the place of its output.
    Degraded {
        /// The substitute.
        output: AuxiliaryOutput,
        /// Why.
        why: AuxiliaryReason,
    },
    /// None has, and there is no substitute: that is a no.
    Refused {
        /// Why.
        why: AuxiliaryReason,
    },
}

impl Outcome {
    /// What a task came to; nothing: it has not ended.
    pub(super) fn of(task: &AuxiliaryTask) -> Result<Option<Self>, StorageError> {
        let output = |text: &String| {
            let output = AuxiliaryOutput::from_value(task.kind, from_text(text)?);
            output.map_err(|error| StorageError::InvalidValue { what: error.to_string() })
        };
        let output = task.output.as_ref().map(output).transpose()?;
        let why = task.reason.unwrap_or(AuxiliaryReason::Interrupted);
        Ok(match (task.state, output) {
            (AuxiliaryTaskState::Pending | AuxiliaryTaskState::Running, _) => None,
            (AuxiliaryTaskState::Succeeded, Some(output)) => Some(Self::Made(output)),
            (AuxiliaryTaskState::Failed, Some(output)) => Some(Self::Degraded { output, why }),
            (AuxiliaryTaskState::Succeeded | AuxiliaryTaskState::Failed, None)
            | (AuxiliaryTaskState::Cancelled, _) => Some(Self::Refused { why }),
        })
    }
}
