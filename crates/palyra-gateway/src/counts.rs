//! How much there is to do.

use palyra_common::runtime_contracts::{AuxiliaryTaskState, RunLifecyclePhase};
use palyra_storage::{Database, StorageError, Tx, approval};

use crate::store::{auxiliary_tasks, runs};

/// What has not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs by phase; those that are missing have none.
    pub runs: Vec<(RunLifecyclePhase, u64)>,
    /// Questions that wait for a human.
    pub questions: u64,
    /// Auxiliary tasks by state; those that are missing have none.
    pub tasks: Vec<(AuxiliaryTaskState, u64)>,
}

impl Counts {
    /// As it is now.
    pub async fn read(db: &Database) -> Result<Self, StorageError> {
        let read = |tx: &mut Tx<'_>| {
            let tasks = auxiliary_tasks::count_open(tx)?;
            Ok((runs::count_open(tx)?, approval::count_pending(tx)?, tasks))
        };
        let (open, questions, tasks) = db.read(read).await?;
        let tasks = tasks.into_iter().map(|(state, count)| (state, unsigned(count))).collect();
        let runs = open.into_iter().map(|(phase, count)| (phase, unsigned(count))).collect();
        Ok(Self { runs, questions: unsigned(questions), tasks })
    }

    /// How many runs are in a phase.
    pub fn of(&self, phase: RunLifecyclePhase) -> u64 {
        self.runs.iter().find(|(counted, _)| *counted == phase).map_or(0, |(_, count)| *count)
    }

    /// How many auxiliary tasks are in a state.
    pub fn tasks(&self, state: AuxiliaryTaskState) -> u64 {
        self.tasks.iter().find(|(counted, _)| *counted == state).map_or(0, |(_, count)| *count)
    }
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
