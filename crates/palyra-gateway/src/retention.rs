//! How long what has ended is kept.

use palyra_common::ids::RunId;
use palyra_common::tape::TapeEvent;
use palyra_common::time::{Duration, Timestamp};
use palyra_storage::blob::{BlobError, BlobId, BlobStore};
use palyra_storage::retention::{Keep, Rule, Step};
use palyra_storage::{StorageError, Tx};

use crate::store::{budgets, runs, sessions, surfaces, tape};

/// Runs are kept for this long after their end, with their tapes.
const RUNS_KEPT: Duration = Duration::from_days(180);
/// What was spent is, too, by day.
const BUDGETS_KEPT: Duration = Duration::from_days(400);
/// Events of a tape that are read at once.
const PAGE: u32 = 512;

/// The retention of what this crate keeps.
pub fn rules() -> Vec<Rule> {
    let keep = |age| Keep { age, count: i64::MAX };
    vec![
        Rule { table: "runs", keep: keep(RUNS_KEPT), step: sweep_runs },
        Rule {
            table: "surfaces",
            keep: keep(RUNS_KEPT),
            step: |tx, step| surfaces::sweep(tx, step.before, step.limit),
        },
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
        let_go_of_artifacts(tx, *run, step.now)?;
        tape::sweep(tx, *run)?;
        runs::remove(tx, *run)?;
    }
    Ok(u64::try_from(ended.len()).unwrap_or(u64::MAX))
}

fn let_go_of_artifacts(tx: &mut Tx<'_>, run: RunId, now: Timestamp) -> Result<(), StorageError> {
    let (holder, mut last) = (crate::tools::holder(run), 0);
    loop {
        let page = tape::after(tx, run, last, PAGE)?;
        for entry in &page {
            if let TapeEvent::ToolCompleted(done) = &entry.event
                && let Some(Ok(blob)) = done.artifact.as_ref().map(|id| id.parse::<BlobId>())
            {
                match BlobStore::let_go(tx, &blob, &holder, now) {
                    Ok(()) => {}
                    Err(BlobError::Storage(error)) => return Err(error),
                    Err(error) => return Err(StorageError::internal(error.to_string())),
                }
            }
        }
        match page.last() {
            Some(entry) if page.len() >= PAGE as usize => last = entry.seq,
            Some(_) | None => return Ok(()),
        }
    }
}
