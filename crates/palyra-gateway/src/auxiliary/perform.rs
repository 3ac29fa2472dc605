//! A task by itself, from its beginning to its end: decide, commit, ask, commit.

use std::collections::BTreeMap;

use palyra_common::agent::{AgentSpec, Cap};
use palyra_common::auxiliary::{AuxiliaryInput, AuxiliaryOutput, Summary, contract};
use palyra_common::ids::AuxiliaryTaskId;
use palyra_common::queue::Backoff;
use palyra_common::runtime_contracts::{
    AuxiliaryPurpose, AuxiliaryReason, AuxiliaryTaskState as State,
};
use palyra_common::time::{Duration, Timestamp};
use palyra_models::ModelRequest;
use palyra_policy::auxiliary::{self as policy, Event, Next, Tries};
use palyra_policy::budget::Amount;
use palyra_storage::blob::{BlobError, BlobStore};
use palyra_storage::{StorageError, Tx, crash_point};

use super::attempt::{Tried, try_once};
use super::contract::{repaired, request};
use super::{ENDED, TOPIC, blobs, holder, images};
use crate::engine::{EngineOptions, scopes_of};
use crate::error::GatewayError;
use crate::metrics;
use crate::store::auxiliary_tasks::{self, AuxiliaryTask, Change};
use crate::store::{agents, budgets, from_text, sessions, to_json};

/// Attempts that may come to nothing by themselves, or be lost, before the failure mode applies.
const MOST_FAILURES: u32 = 3;
/// Tasks that are read at once.
const PAGE: u32 = 200;
/// How long to wait before the next one.
const BACKOFF: Backoff = Backoff { base: Duration::from_millis(500), cap: Duration::from_mins(1) };

/// What became of a commit.
enum Written {
    Done,
    /// Nothing is written: this budget is spent.
    Spent(String),
    /// Nothing is written: somebody else has the task.
    Lost,
}

enum Undo {
    Because(Written),
    Failed(GatewayError),
}

impl From<StorageError> for Undo {
    fn from(error: StorageError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<GatewayError> for Undo {
    fn from(error: GatewayError) -> Self {
        Self::Failed(error)
    }
}

/// A task that a worker has, as it is written down.
struct Held<'a> {
    options: &'a EngineOptions,
    worker: i64,
    task: AuxiliaryTask,
    spec: AgentSpec,
    input: AuxiliaryInput,
}

/// How a task ended.
struct End {
    output: Option<AuxiliaryOutput>,
    reason: Option<AuxiliaryReason>,
    detail: Option<String>,
    model: Option<String>,
    charged: Amount,
}

impl End {
    fn because(reason: AuxiliaryReason, detail: impl Into<String>) -> Self {
        let (output, model, charged) = (None, None, Amount::default());
        Self { output, reason: Some(reason), detail: Some(detail.into()), model, charged }
    }
}

/// Does a task.
pub(super) async fn perform(
    options: &EngineOptions,
    worker: i64,
    task: AuxiliaryTask,
) -> Result<(), GatewayError> {
    let agent = task.agent.clone();
    let agent = options.db.read(move |tx| agents::one(tx, &agent)).await?;
    let input = read_input(&task)?;
    let spec = agent.as_ref().map(|agent| agent.spec.clone()).unwrap_or_default();
    let mut held = Held { options, worker, task, spec, input };
    if agent.is_none() {
        let what = format!("there is no agent {}", held.task.agent);
        return held.end(End::because(AuxiliaryReason::NoModel, what)).await;
    }
    let preference = contract(held.task.kind).preference;
    let models = options.thinker.preferred(&held.spec.models, preference);
    if models.is_empty() {
        let what = format!("no model that may be asked can do a {}", held.task.kind);
        return held.end(End::because(AuxiliaryReason::NoModel, what)).await;
    }
    match images::read(&held.input, &options.blobs).await {
        Ok(images) => {
            let request = request(&held.input, images);
            held.attempts(&models, request).await
        }
        Err(what) => held.end(End::because(AuxiliaryReason::InvalidInput, what)).await,
    }
}

fn read_input(task: &AuxiliaryTask) -> Result<AuxiliaryInput, StorageError> {
    let text = task.input.as_deref().unwrap_or("null");
    let input = AuxiliaryInput::from_value(task.kind, from_text(text)?);
    input.map_err(|error| StorageError::InvalidValue { what: error.to_string() })
}

impl Held<'_> {
    /// An attempt, and the repair of what came of it.
    async fn attempts(
        &mut self,
        models: &[String],
        mut request: ModelRequest,
    ) -> Result<(), GatewayError> {
        let options = self.options;
        let (mut repairs, mut before) = (0, Amount::default());
        loop {
            let reserved = options.thinker.worst_case(models, &request);
            match self.begin(reserved, before).await? {
                Written::Done => {}
                Written::Lost => return Ok(()),
                Written::Spent(scope) => {
                    let what = format!("the budget {scope} is spent");
                    let end = End::because(AuxiliaryReason::BudgetSpent, what);
                    return self.end(End { charged: before, ..end }).await;
                }
            }
            crash_point!("auxiliary.before_model");
            let wanted = (models, reserved);
            let (thinker, outgoing) = (&*options.thinker, &*options.outgoing);
            let tried = try_once(thinker, outgoing, wanted, &self.input, &request).await;
            crash_point!("auxiliary.after_model");
            let failed = matches!(tried.came, policy::Came::Failed(_));
            let failures = self.task.failures + u32::from(failed);
            let tries = Tries { repairs, failures, most_failures: MOST_FAILURES };
            match policy::next(tried.came, tries) {
                Next::Repair => {
                    let fault = tried.detail.as_deref().unwrap_or_default();
                    request = repaired(&request, &tried.answer, fault);
                    (repairs, before) = (repairs + 1, tried.charged);
                }
                Next::Later => return self.later(tried, failures).await,
                Next::Succeed => return self.end(ended(tried, None)).await,
                Next::GiveUp(why) => return self.end(ended(tried, Some(why))).await,
            }
        }
    }

    /// Writes down that a model is about to be asked, and sets aside what that may take.
    async fn begin(&mut self, reserved: Amount, charged: Amount) -> Result<Written, GatewayError> {
        let now = self.options.clock.now();
        let scopes = self.scopes(now);
        let change = Change {
            reserved,
            scopes: scopes.keys().cloned().collect(),
            charged,
            failures: self.task.failures,
            worker: Some(self.worker),
            begun_at: Some(now),
            ..Change::to(State::Running, self.task.attempts + 1)
        };
        let (task, worker, to) = (self.task.clone(), self.worker, change.clone());
        let begin = move |tx: &mut Tx<'_>| -> Result<Written, Undo> {
            fenced(tx, &task, worker, &to)?;
            settle(tx, &task, to.charged, now)?;
            for (scope, cap) in &scopes {
                let account = budgets::lock(tx, scope, now)?;
                let Some(account) = account.reserve(to.reserved, cap) else {
                    return Err(Undo::Because(Written::Spent(scope.clone())));
                };
                budgets::save(tx, scope, &account, now)?;
            }
            Ok(Written::Done)
        };
        let written = self.write(begin).await?;
        if matches!(written, Written::Done) {
            let Change { attempts, reserved, scopes, .. } = change;
            self.task.state = State::Running;
            (self.task.attempts, self.task.reserved, self.task.scopes) =
                (attempts, reserved, scopes);
        }
        Ok(written)
    }

    fn scopes(&self, now: Timestamp) -> BTreeMap<String, Cap> {
        scopes_of((&self.task.agent, self.task.session), &self.spec, now)
    }

    /// Puts it off: it may pass.
    async fn later(&self, tried: Tried, failures: u32) -> Result<(), GatewayError> {
        let now = self.options.clock.now();
        let chance = self.options.dice.roll();
        let wait = palyra_policy::backoff::wait(BACKOFF, failures, chance);
        let wait = tried.after.map_or(wait, |after| after.max(wait));
        let Some(state) = policy::step(self.task.state, Event::Returned) else { return Ok(()) };
        let to = Change {
            charged: tried.charged,
            failures,
            detail: tried.detail,
            due_at: Some(now + wait),
            ..Change::to(state, self.task.attempts)
        };
        let (task, worker) = (self.task.clone(), self.worker);
        let later = move |tx: &mut Tx<'_>| -> Result<Written, Undo> {
            fenced(tx, &task, worker, &to)?;
            settle(tx, &task, to.charged, now)?;
            tx.notify(TOPIC);
            Ok(Written::Done)
        };
        self.write(later).await.map(drop)
    }

    /// Ends it, with its substitute where no model has met its contract.
    async fn end(&self, end: End) -> Result<(), GatewayError> {
        let (now, worker, task) = (self.options.clock.now(), self.worker, self.task.clone());
        let change = change_of(&task, &self.input, end, now)?;
        let (input, to) = (self.input.clone(), change.clone());
        let finish = move |tx: &mut Tx<'_>| -> Result<Written, Undo> {
            // A session is locked before all else.
            apply(tx, &task, &input, &to)?;
            fenced(tx, &task, worker, &to)?;
            let_go(tx, &task, &input, now).map_err(GatewayError::from)?;
            settle(tx, &task, to.charged, now)?;
            tx.notify(ENDED);
            Ok(Written::Done)
        };
        if let Written::Done = self.write(finish).await? {
            metrics::side_call(self.task.kind, change.state, change.reason);
        }
        Ok(())
    }

    async fn write(
        &self,
        work: impl Fn(&mut Tx<'_>) -> Result<Written, Undo> + Send + 'static,
    ) -> Result<Written, GatewayError> {
        match self.options.db.try_write(work).await {
            Ok(written) | Err(Undo::Because(written)) => Ok(written),
            Err(Undo::Failed(error)) => Err(error),
        }
    }
}

fn ended(tried: Tried, reason: Option<AuxiliaryReason>) -> End {
    let Tried { output, detail, model, charged, .. } = tried;
    End { output, reason, detail, model, charged }
}

/// What is written about a task that ends.
fn change_of(
    task: &AuxiliaryTask,
    input: &AuxiliaryInput,
    end: End,
    now: Timestamp,
) -> Result<Change, GatewayError> {
    let (event, output) = match end.reason {
        None => (Event::Met, end.output),
        Some(_) => (Event::GivenUp, policy::fallback(input)),
    };
    let state = policy::step(task.state, event).unwrap_or(State::Failed);
    let invalid = |error: serde_json::Error| GatewayError::Invalid(error.to_string());
    let output = output.map(|output| output.to_value().map_err(invalid)).transpose()?;
    Ok(Change {
        output: output.map(|output| to_json(&output)).transpose()?,
        model: end.model,
        charged: end.charged,
        failures: task.failures,
        reason: end.reason,
        detail: end.detail,
        ended_at: Some(now),
        ..Change::to(state, task.attempts)
    })
}

/// Without the token of its worker, nothing.
fn fenced(tx: &mut Tx<'_>, task: &AuxiliaryTask, worker: i64, to: &Change) -> Result<(), Undo> {
    match auxiliary_tasks::change(tx, task.id, Some(worker), to)? {
        true => Ok(()),
        false => Err(Undo::Because(Written::Lost)),
    }
}

/// Turns what was set aside into what was spent.
fn settle(
    tx: &mut Tx<'_>,
    task: &AuxiliaryTask,
    spent: Amount,
    now: Timestamp,
) -> Result<(), StorageError> {
    for scope in &task.scopes {
        let account = budgets::lock(tx, scope, now)?;
        budgets::save(tx, scope, &account.settle(task.reserved, spent), now)?;
    }
    Ok(())
}

/// What follows from the end of a task, whichever it is.
fn apply(
    tx: &mut Tx<'_>,
    task: &AuxiliaryTask,
    input: &AuxiliaryInput,
    to: &Change,
) -> Result<(), GatewayError> {
    match (task.purpose, task.session, &to.output) {
        (AuxiliaryPurpose::Title, Some(session), Some(output)) => {
            let output = AuxiliaryOutput::from_value(input.kind(), from_text(output)?);
            if let Ok(AuxiliaryOutput::Summary(Summary(title))) = output {
                sessions::entitle(tx, session, &title)?;
            }
            Ok(())
        }
        (AuxiliaryPurpose::Title, _, _)
        | (AuxiliaryPurpose::Compaction | AuxiliaryPurpose::Call, _, _) => Ok(()),
    }
}

fn let_go(
    tx: &mut Tx<'_>,
    task: &AuxiliaryTask,
    input: &AuxiliaryInput,
    now: Timestamp,
) -> Result<(), BlobError> {
    for blob in blobs(input) {
        BlobStore::let_go(tx, &blob, &holder(task.id), now)?;
    }
    Ok(())
}

/// Ends what a restored database would ask for: it may have been asked for since.
pub(crate) fn cancel_what_came_back(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StorageError> {
    loop {
        let open = auxiliary_tasks::open(tx, PAGE)?;
        if open.is_empty() {
            return Ok(());
        }
        for task in open {
            settle(tx, &task, task.reserved, now)?;
            auxiliary_tasks::cancel(tx, task.id, now)?;
            match read_input(&task).map(|input| let_go(tx, &task, &input, now)) {
                Ok(Ok(())) => {}
                Ok(Err(BlobError::Storage(error))) => return Err(error),
                Ok(Err(error)) => return Err(StorageError::internal(error.to_string())),
                // It holds what nobody can name.
                Err(_) => {}
            }
        }
    }
}

/// Gives back what a worker has that will write nothing more.
pub(super) fn return_lost(
    tx: &mut Tx<'_>,
    worker: i64,
    now: Timestamp,
) -> Result<(), GatewayError> {
    for task in auxiliary_tasks::of_worker(tx, worker)? {
        give_back(tx, worker, &task, now)?;
    }
    Ok(())
}

/// The same of one task.
pub(super) fn return_one(
    tx: &mut Tx<'_>,
    worker: i64,
    id: AuxiliaryTaskId,
    now: Timestamp,
) -> Result<(), GatewayError> {
    let tasks = auxiliary_tasks::of_worker(tx, worker)?;
    match tasks.iter().find(|task| task.id == id) {
        Some(task) => give_back(tx, worker, task, now),
        None => Ok(()),
    }
}

/// An attempt that was under way is lost, and charged in full. After some of them the failure mode
/// applies; what was not begun is as it was.
fn give_back(
    tx: &mut Tx<'_>,
    worker: i64,
    task: &AuxiliaryTask,
    now: Timestamp,
) -> Result<(), GatewayError> {
    let was_begun = task.state == State::Running;
    let failures = task.failures + u32::from(was_begun);
    let lost = AuxiliaryTask { failures, ..task.clone() };
    let charged = if was_begun { task.reserved } else { Amount::default() };
    let is_over = failures >= MOST_FAILURES;
    let input = read_input(task);
    let to = match (&input, is_over) {
        (Ok(input), true) => {
            let what = "whoever had asked a model was gone, several times";
            let end = End::because(AuxiliaryReason::Interrupted, what);
            let to = change_of(&lost, input, End { charged, ..end }, now)?;
            apply(tx, &lost, input, &to)?;
            let_go(tx, &lost, input, now).map_err(GatewayError::from)?;
            tx.notify(ENDED);
            to
        }
        // Nobody can do what nobody can read.
        (Err(error), _) => Change {
            charged,
            failures,
            reason: Some(AuxiliaryReason::InvalidInput),
            detail: Some(error.to_string()),
            ended_at: Some(now),
            ..Change::to(State::Failed, task.attempts)
        },
        (Ok(_), false) => {
            tx.notify(TOPIC);
            let due_at = Some(now);
            Change { charged, failures, due_at, ..Change::to(State::Pending, task.attempts) }
        }
    };
    auxiliary_tasks::change(tx, task.id, Some(worker), &to)?;
    Ok(settle(tx, task, charged, now)?)
}
