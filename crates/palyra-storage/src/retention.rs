//! The sweeper: everything that only grows names how long and how many of it are kept.

mod error;

use std::future::Future;
use std::sync::Arc;

use palyra_common::time::{Clock, Duration, Timestamp};

pub use error::RetentionError;

use crate::blob::{BlobError, BlobStore};
use crate::engine::EngineKind;
use crate::error::describe;
use crate::lease::{Lease, LeaseName, Leases};
use crate::store::{approvals, commit_marks, idempotency_keys, leases};
use crate::{Database, StorageError, Tx, events, journal, once};

/// The lease of whoever removes rows and blobs. Holding it keeps all of them where they are.
pub(crate) const LEASE: &str = "retention";
/// Rows removed in one transaction: small, so that nobody waits long behind it.
const STEP_ROWS: u32 = 500;
/// Steps of one rule in one round; what is left waits for the next round.
const STEPS_PER_ROUND: usize = 200;
const COMMIT_MARKS_KEPT: Duration = Duration::from_days(7);

/// How much of a table is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Older rows go.
    pub age: Duration,
    /// Of the others, only the newest so many stay.
    pub count: i64,
}

/// What a rule's step is told.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The time.
    pub now: Timestamp,
    /// Rows older than this may go.
    pub before: Timestamp,
    /// Rows beyond the newest so many may go.
    pub count: i64,
    /// Remove at most so many.
    pub limit: u32,
}

/// The retention of one append-only table.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The table.
    pub table: &'static str,
    /// How much of it is kept.
    pub keep: Keep,
    /// Removes some rows and says how many.
    pub step: fn(&mut Tx<'_>, Step) -> Result<u64, StorageError>,
}

/// The rules of the tables of this crate. Others bring their own.
pub fn ground_rules(engine: EngineKind) -> Vec<Rule> {
    let mut rules = vec![
        Rule {
            table: "events",
            keep: Keep { age: Duration::from_days(30), count: 1_000_000 },
            step: |tx, step| events::prune(tx, step.before, step.count, step.limit),
        },
        Rule {
            table: "journal",
            keep: Keep { age: Duration::from_days(400), count: 5_000_000 },
            step: journal::step,
        },
        Rule {
            table: "leases",
            keep: Keep { age: Duration::from_days(7), count: i64::MAX },
            step: |tx, step| leases::sweep(tx, step.before, step.limit),
        },
        Rule {
            table: "approvals",
            keep: Keep { age: Duration::from_days(400), count: i64::MAX },
            step: |tx, step| approvals::sweep(tx, step.before, step.limit),
        },
        Rule {
            table: "idempotency_keys",
            keep: Keep { age: once::KEPT, count: i64::MAX },
            step: |tx, step| idempotency_keys::sweep(tx, step.before, step.limit),
        },
    ];
    match engine {
        EngineKind::Sqlite => {}
        EngineKind::Postgres => rules.push(Rule {
            table: "commit_marks",
            keep: Keep { age: COMMIT_MARKS_KEPT, count: i64::MAX },
            step: |tx, step| commit_marks::sweep(tx, step.before, step.limit),
        }),
    }
    rules
}

/// Enforces rules, on one node at a time.
pub struct Sweeper {
    db: Database,
    leases: Leases,
    clock: Arc<dyn Clock>,
    rules: Vec<Rule>,
    blobs: Option<BlobStore>,
    every: std::time::Duration,
}

/// What one round removed, table by table.
pub type Swept = Vec<(&'static str, u64)>;

impl Sweeper {
    /// A sweeper of `rules` that works every `every`.
    pub fn new(
        db: Database,
        leases: Leases,
        clock: Arc<dyn Clock>,
        rules: Vec<Rule>,
        every: Duration,
    ) -> Self {
        Self { db, leases, clock, rules, blobs: None, every: every.into() }
    }

    /// Also collects blobs that nobody holds.
    #[must_use]
    pub fn with_blobs(mut self, blobs: BlobStore) -> Self {
        self.blobs = Some(blobs);
        self
    }

    /// Works until `shutdown`, at once and then at intervals. What failed is tried again at the
    /// next round.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                // What failed was logged, each part by itself.
                _ = self.round() => {}
                () = &mut shutdown => return,
            }
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                () = &mut shutdown => return,
            }
        }
    }

    /// One round, if no other node is at it. A part that fails keeps no other from being carried
    /// out. All of it is logged; the caller is told of the first failure.
    pub async fn round(&self) -> Result<Swept, RetentionError> {
        let mut round = Round::default();
        match self.leases.try_take(&LeaseName::new(LEASE)).await {
            Ok(Some(lease)) => {
                self.sweep(&lease, &mut round).await;
                let released = self.leases.release(lease).await;
                round.note(released.map_err(RetentionError::Lease));
            }
            Ok(None) => {}
            Err(error) => round.note(Err(RetentionError::Lease(error))),
        }
        round.end()
    }

    async fn sweep(&self, lease: &Lease, round: &mut Round) {
        for rule in &self.rules {
            let mut removed = 0;
            let enforced = self.enforce(*rule, lease, &mut removed).await;
            let lost = matches!(enforced, Err(StorageError::StaleLease { .. }));
            round.swept.push((rule.table, removed));
            round.note(enforced.map_err(|cause| RetentionError::Rule { table: rule.table, cause }));
            if lost {
                // Another node is at it.
                return;
            }
        }
        if let Some(blobs) = &self.blobs {
            let mut removed = 0;
            let collected = collect(blobs, lease, &mut removed).await;
            round.swept.push(("blobs", removed));
            round.note(collected.map_err(RetentionError::Blobs));
        }
    }

    async fn enforce(
        &self,
        rule: Rule,
        lease: &Lease,
        removed: &mut u64,
    ) -> Result<(), StorageError> {
        for _ in 0..STEPS_PER_ROUND {
            let now = self.clock.now();
            let Rule { keep, step, .. } = rule;
            let (before, count) = (now - keep.age, keep.count);
            let told = Step { now, before, count, limit: STEP_ROWS };
            let held = lease.clone();
            let gone = self
                .db
                .write(move |tx| {
                    held.fence(tx)?;
                    step(tx, told)
                })
                .await?;
            *removed += gone;
            if gone == 0 {
                break;
            }
        }
        Ok(())
    }
}

async fn collect(blobs: &BlobStore, lease: &Lease, removed: &mut u64) -> Result<(), BlobError> {
    let mut failed = None;
    for _ in 0..STEPS_PER_ROUND {
        let (gone, why) = blobs.collect_under(Some(lease), STEP_ROWS).await?;
        *removed += gone;
        failed = failed.or(why);
        if gone == 0 {
            break;
        }
    }
    failed.map_or(Ok(()), Err)
}

/// What became of a round so far.
#[derive(Default)]
struct Round {
    swept: Swept,
    failed: Option<RetentionError>,
}

impl Round {
    fn note(&mut self, outcome: Result<(), RetentionError>) {
        if let Err(error) = outcome {
            let (table, code) = (error.table(), error.code());
            tracing::warn!(table, %code, error = %describe(&error), "retention could not work");
            self.failed.get_or_insert(error);
        }
    }

    fn end(self) -> Result<Swept, RetentionError> {
        for (table, rows) in self.swept.iter().filter(|(_, rows)| *rows > 0) {
            tracing::info!(table, rows, "retention removed rows");
        }
        self.failed.map_or(Ok(self.swept), Err)
    }
}
