//! How much there is to do.

use palyra_common::runtime_contracts::RunLifecyclePhase;
use palyra_storage::{Database, StorageError, Tx, approval};

use crate::store::runs;

/// What has not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs by phase; those that are missing have none.
    pub runs: Vec<(RunLifecyclePhase, u64)>,
    /// Questions that wait for a human.
    pub questions: u64,
}

impl Counts {
    /// As it is now.
    pub async fn read(db: &Database) -> Result<Self, StorageError> {
        let read = |tx: &mut Tx<'_>| Ok((runs::count_open(tx)?, approval::count_pending(tx)?));
        let (open, questions) = db.read(read).await?;
        let runs = open.into_iter().map(|(phase, count)| (phase, unsigned(count))).collect();
        Ok(Self { runs, questions: unsigned(questions) })
    }

    /// How many runs are in a phase.
    pub fn of(&self, phase: RunLifecyclePhase) -> u64 {
        self.runs.iter().find(|(counted, _)| *counted == phase).map_or(0, |(_, count)| *count)
    }
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
