//! How long what has ended is kept.

use palyra_common::tape::TapeEvent;
use palyra_common::time::Duration;
use palyra_storage::blob::{BlobError, BlobId, BlobStore};
use palyra_storage::retention::{Keep, Rule, Step};
use palyra_storage::{StorageError, Tx};

use crate::store::{budgets, runs, sessions, tape};

/// Runs are kept for this long after their end, with their tapes.
const RUNS_KEPT: Duration = Duration::from_days(180);
/// What was spent is, too, by day.
const BUDGETS_KEPT: Duration = Duration::from_days(400);
/// Events of a run that are looked at for what it holds.
const MOST_EVENTS: u32 = 10_000;

/// The retention of what this crate keeps.
pub fn rules() -> Vec<Rule> {
    let keep = |age| Keep { age, count: i64::MAX };
    vec![
        Rule { table: "runs", keep: keep(RUNS_KEPT), step: sweep_runs },
        Rule {
            table: "sessions",
            keep: keep(RUNS_KEPT),
            step: |tx, step| sessions::sweep(tx, step.before, step.limit),
        },
        Rule {
            table: "budgets",
            keep: keep(BUDGETS_KEPT),
            step: |tx, step| budgets::sweep(tx, step.before, step.limit),
        },
    ]
}

/// A run goes with its tape, and with its hold on what is kept elsewhere.
fn sweep_runs(tx: &mut Tx<'_>, step: Step) -> Result<u64, StorageError> {
    let ended = runs::ended_before(tx, step.before, step.limit)?;
    for run in &ended {
        let holder = crate::tools::holder(*run);
        for entry in tape::spoken(tx, *run, MOST_EVENTS)? {
            if let TapeEvent::ToolCompleted(done) = entry.event
                && let Some(Ok(blob)) = done.artifact.map(|id| id.parse::<BlobId>())
            {
                match BlobStore::let_go(tx, &blob, &holder, step.now) {
                    Ok(()) => {}
                    Err(BlobError::Storage(error)) => return Err(error),
                    Err(error) => return Err(StorageError::internal(error.to_string())),
                }
            }
        }
        tape::sweep(tx, *run)?;
        runs::remove(tx, *run)?;
    }
    Ok(u64::try_from(ended.len()).unwrap_or(u64::MAX))
}
