//! What a restored database would do again.

use palyra_common::runtime_contracts::RunLifecyclePhase;
use palyra_common::tape::{Phase, TapeEvent};
use palyra_common::time::Timestamp;
use palyra_storage::{StorageError, Tx, approval};

use crate::auxiliary::cancel_what_came_back;
use crate::engine::append;
use crate::store::{runs, sessions};

/// Why a run waits that nobody has paused.
const WHY: &str = "the database was restored from a backup, and this may have been done since";

/// What became of the runs of a restored database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunsCameBack {
    /// Runs that had not ended, and wait until somebody resumes them.
    pub paused: u64,
    /// Questions that wait for a human, as they did before.
    pub questions: u64,
}

/// Keeps a restored database from doing by itself what its agents may have done after the backup was
/// made.
pub fn pause_what_came_back(tx: &mut Tx<'_>, now: Timestamp) -> Result<RunsCameBack, StorageError> {
    let paused = runs::pause_all(tx, now)?;
    let (phase, reason) = (RunLifecyclePhase::Paused, Some(WHY.to_owned()));
    let moved = [TapeEvent::RunPhase(Phase { phase, reason })];
    for run in &paused {
        append(tx, *run, &moved, now)?;
    }
    sessions::let_all_go(tx)?;
    cancel_what_came_back(tx, now)?;
    let questions = approval::count_pending(tx)?;
    Ok(RunsCameBack {
        paused: u64::try_from(paused.len()).unwrap_or(u64::MAX),
        questions: u64::try_from(questions).unwrap_or(0),
    })
}
