//! The sweeper: everything that only grows names how long and how many of it are kept.

use std::future::Future;
use std::sync::Arc;

use palyra_common::time::{Clock, Duration, Timestamp};

use crate::blob::BlobStore;
use crate::engine::EngineKind;
use crate::lease::{Lease, LeaseName, Leases};
use crate::store::{commit_marks, leases};
use crate::{Database, StorageError, Tx, events, journal};

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
    ];
    rules.push(Rule {
        table: "leases",
        keep: Keep { age: Duration::from_days(7), count: i64::MAX },
        step: |tx, step| leases::sweep(tx, step.before, step.limit),
    });
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

    /// Works until `shutdown`, at once and then at intervals. A failed round is logged and tried
    /// again at the next.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                round = self.round() => match round {
                    Ok(swept) => log(&swept),
                    Err(error) => tracing::warn!(
                        error = %crate::error::describe(&error), "retention could not work"),
                },
                () = &mut shutdown => return,
            }
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                () = &mut shutdown => return,
            }
        }
    }

    /// One round, if no other node is at it.
    pub async fn round(&self) -> Result<Swept, StorageError> {
        let Some(lease) = self.leases.try_take(&LeaseName::new("retention")).await? else {
            return Ok(Swept::new());
        };
        let swept = self.sweep(&lease).await;
        self.leases.release(lease).await?;
        swept
    }

    async fn sweep(&self, lease: &Lease) -> Result<Swept, StorageError> {
        let mut swept = Swept::new();
        for rule in &self.rules {
            swept.push((rule.table, self.enforce(*rule, lease).await?));
        }
        if let Some(blobs) = &self.blobs {
            let collected = blobs.collect(STEP_ROWS).await.map_err(|error| match error {
                crate::blob::BlobError::Storage(error) => error,
                other => StorageError::Unavailable(Arc::new(other)),
            })?;
            swept.push(("blobs", collected));
        }
        Ok(swept)
    }

    async fn enforce(&self, rule: Rule, lease: &Lease) -> Result<u64, StorageError> {
        let mut removed = 0;
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
            removed += gone;
            if gone == 0 {
                break;
            }
        }
        Ok(removed)
    }
}

fn log(swept: &Swept) {
    for (table, rows) in swept.iter().filter(|(_, rows)| *rows > 0) {
        tracing::info!(table, rows, "retention removed rows");
    }
}
