//! Side calls to models: tasks with a strict contract, as rows. What goes in and what comes out are
//! values of `palyra_common::auxiliary`; what follows what is decided by `palyra_policy::auxiliary`.
//!
//! A task by itself is asked for in any transaction ([`ask`]) and done by the [`Worker`] of a node; what
//! it came to is an [`Outcome`]. A part of a run is done by the run's worker, on its tape
//! (`engine/compact.rs`). Both make an attempt in the same way (`attempt.rs`): a model is told what is
//! wanted, may write so much, and its answer is read by the schema of its contract.

mod attempt;
mod contract;
mod images;
mod outcome;
mod perform;
#[cfg(test)]
mod tests;
mod title;
mod worker;

use std::sync::Arc;

use palyra_common::auxiliary::AuxiliaryInput;
use palyra_common::ids::{AgentId, AuxiliaryTaskId, RunId, SessionId};
use palyra_common::runtime_contracts::{AuxiliaryPurpose, AuxiliaryTaskState};
use palyra_common::time::{Clock, Timestamp};
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::{Database, StorageError, Topic, Tx, new_id};

use crate::error::GatewayError;
use crate::store::auxiliary_tasks::{self, AuxiliaryTask, NewTask};

pub(crate) use attempt::{Tried, try_once};
pub(crate) use contract::{checked, digest, repaired, request};
pub use outcome::Outcome;
pub(crate) use perform::cancel_what_came_back;
pub(crate) use title::Naming;
pub(crate) use worker::Worker;

/// Rung when a task can be taken.
pub(crate) const TOPIC: Topic = Topic::new("auxiliary");
/// Rung when one has ended.
const ENDED: Topic = Topic::new("auxiliary_ended");
/// How often to look without having been told.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_secs(2);

/// What somebody wants to be done on the side.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Whose models and budgets it uses.
    pub agent: AgentId,
    /// The conversation that it is about, whose budget it uses, too.
    pub session: Option<SessionId>,
    /// What goes into it.
    pub input: AuxiliaryInput,
    /// What makes it the same task: asked for again, it is not done again. Nothing: it is another one.
    pub key: Option<String>,
}

/// Asks for a task, as part of a transaction. What does not meet its contract is refused. Says which
/// task it is; nothing: there is one with that key.
pub fn ask(
    tx: &mut Tx<'_>,
    wanted: &Wanted,
    now: Timestamp,
) -> Result<Option<AuxiliaryTaskId>, GatewayError> {
    ask_for(tx, wanted, AuxiliaryPurpose::Call, now)
}

pub(crate) fn ask_for(
    tx: &mut Tx<'_>,
    wanted: &Wanted,
    purpose: AuxiliaryPurpose,
    now: Timestamp,
) -> Result<Option<AuxiliaryTaskId>, GatewayError> {
    let input = checked(&wanted.input)?.to_string();
    let id: AuxiliaryTaskId = new_id();
    let new = NewTask {
        id,
        key: wanted.key.clone().unwrap_or_else(|| id.to_string()),
        kind: wanted.input.kind(),
        purpose,
        agent: wanted.agent.clone(),
        session: wanted.session,
        run: None,
        input_sha256: digest(&input),
        input: Some(input),
    };
    if !auxiliary_tasks::add(tx, &new, Some(now), now)? {
        return Ok(None);
    }
    for blob in blobs(&wanted.input) {
        BlobStore::hold(tx, &blob, &holder(id), now)?;
    }
    tx.notify(TOPIC);
    Ok(Some(id))
}

/// Who holds what a task looks at.
pub(crate) fn holder(task: AuxiliaryTaskId) -> String {
    format!("auxiliary:{task}")
}

/// What a task looks at.
fn blobs(input: &AuxiliaryInput) -> Vec<BlobId> {
    match input {
        AuxiliaryInput::Vision(vision) => {
            vision.images.iter().filter_map(|image| image.blob.parse().ok()).collect()
        }
        AuxiliaryInput::Summary(_)
        | AuxiliaryInput::RecallSearch(_)
        | AuxiliaryInput::Classification(_)
        | AuxiliaryInput::Extraction(_)
        | AuxiliaryInput::ObjectiveJudge(_) => Vec::new(),
    }
}

/// Side calls, for those who ask for them and look at them. Cheap to clone.
#[derive(Clone)]
pub struct Auxiliary {
    db: Database,
    clock: Arc<dyn Clock>,
}

impl Auxiliary {
    /// Those in `db`.
    pub fn new(db: Database, clock: Arc<dyn Clock>) -> Self {
        Self { db, clock }
    }

    /// Asks for a task.
    pub async fn ask(&self, wanted: Wanted) -> Result<Option<AuxiliaryTaskId>, GatewayError> {
        let now = self.clock.now();
        self.db.try_write(move |tx| ask(tx, &wanted, now)).await
    }

    /// One task.
    pub async fn get(&self, id: AuxiliaryTaskId) -> Result<AuxiliaryTask, GatewayError> {
        let found = self.db.read(move |tx| auxiliary_tasks::one(tx, id)).await?;
        found.ok_or(GatewayError::NoTask(id))
    }

    /// What a task came to; nothing: it has not ended.
    pub async fn outcome(&self, id: AuxiliaryTaskId) -> Result<Option<Outcome>, GatewayError> {
        Ok(Outcome::of(&self.get(id).await?)?)
    }

    /// The same, once it has ended: as long as it takes, so whoever waits has a limit of their own.
    pub async fn wait(&self, id: AuxiliaryTaskId) -> Result<Outcome, GatewayError> {
        let mut told = self.db.subscribe(ENDED);
        loop {
            if let Some(outcome) = self.outcome(id).await? {
                return Ok(outcome);
            }
            let _ = tokio::time::timeout(LOOK_EVERY, told.changed()).await;
        }
    }

    /// Tasks, the newest first, behind `after`; of one run or session, or in one state.
    pub async fn list(
        &self,
        after: Option<AuxiliaryTaskId>,
        of: (Option<RunId>, Option<SessionId>),
        state: Option<AuxiliaryTaskState>,
        limit: u32,
    ) -> Result<Vec<AuxiliaryTask>, StorageError> {
        self.db.read(move |tx| auxiliary_tasks::list(tx, after, of, state, limit)).await
    }
}
