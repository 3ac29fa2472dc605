//! Side calls of a run: putting the beginning of a conversation that does not fit into a summary, on the
//! run's tape and by its worker, before the model is asked. Whatever becomes of it, the run goes on.

use palyra_common::auxiliary::{
    AuxiliaryInput, AuxiliaryOutput, MAX_TEXT_CHARS, SummaryInput, SummaryShape, contract,
};
use palyra_common::ids::AuxiliaryTaskId;
use palyra_common::runtime_contracts::{
    AuxiliaryPurpose, AuxiliaryReason, AuxiliaryTaskKind, AuxiliaryTaskState as State, Trust,
};
use palyra_common::tape::{AuxTask, TapeEvent};
use palyra_common::time::{Duration, Timestamp};
use palyra_models::ModelRequest;
use palyra_policy::auxiliary::{self as decide, Next, Tries};
use palyra_policy::budget::Amount;
use palyra_policy::run::{self as policy, OpenTask};
use palyra_storage::{Tx, crash_point, new_id};

use super::commit::{Committed, TaskRow, Then};
use super::context::{Events, transcript};
use super::drive::Held;
use super::model::Asked;
use crate::auxiliary::{Naming, Tried, checked, digest, repaired, request, try_once};
use crate::error::GatewayError;
use crate::metrics;
use crate::store::auxiliary_tasks::{self, Change, NewTask};
use crate::store::session_summaries::{self, Summary};
use crate::store::{sessions, tape};

const KIND: AuxiliaryTaskKind = AuxiliaryTaskKind::Summary;
/// How long the summary of a conversation may be, in characters.
const SUMMARY_CHARS: u32 = 4_000;
/// How many runs are put into it at once, and how many events of them.
const MOST_RUNS: u32 = 64;
const MOST_EVENTS: u32 = 2_000;
/// How much of them is, in characters.
const MOST_CHARS: usize = MAX_TEXT_CHARS / 2;
/// For how long a conversation is left alone after that was not possible.
const AFTER_FAILURE: Duration = Duration::from_mins(10);

/// What follows for the run.
pub(super) enum Compacted {
    /// There is a summary that reaches further.
    Made,
    /// There is none, and the run goes on without.
    Nothing,
    /// Somebody wants something else of the run.
    Called,
    /// The run is somebody else's.
    Lost,
}

/// What is put into fewer words.
struct Material {
    task: AuxiliaryTaskId,
    input: AuxiliaryInput,
    through: i64,
    trust: Trust,
}

/// A side call of a run whose end nobody has seen.
pub(crate) struct Lost {
    pub(crate) open: OpenTask,
    pub(crate) state: State,
    /// All that was set aside for it.
    pub(crate) charged: Amount,
}

impl Lost {
    const WHY: &str = "whoever had asked a model is gone, or was told to stop";

    /// What the tape says about it.
    pub(crate) fn event(&self) -> TapeEvent {
        let OpenTask { task, kind, attempt } = self.open;
        TapeEvent::AuxTask(AuxTask {
            task,
            task_kind: kind,
            state: self.state,
            attempt,
            model: None,
            reserved_tokens: 0,
            reserved_micros: 0,
            charged_tokens: self.charged.tokens,
            charged_micros: self.charged.micros,
            reason: Some(AuxiliaryReason::Interrupted),
            detail: Some(Self::WHY.to_owned()),
        })
    }

    /// What its row says.
    pub(crate) fn change(&self, now: Timestamp) -> Change {
        Change {
            charged: self.charged,
            reason: Some(AuxiliaryReason::Interrupted),
            detail: Some(Self::WHY.to_owned()),
            ended_at: Some(now),
            ..Change::to(self.state, self.open.attempt)
        }
    }
}

impl Held {
    /// Gives up a side call whose end nobody has seen.
    pub(super) async fn lose_task(
        &mut self,
        open: OpenTask,
        state: State,
    ) -> Result<(), GatewayError> {
        let charged = self.reserved().await?;
        let (lost, now) = (Lost { open, state, charged }, self.options.clock.now());
        self.beside.spent = Some(charged);
        self.beside.tasks.push(TaskRow::Changed(open.task, Box::new(lost.change(now))));
        self.push(lost.event());
        metrics::side_call(open.kind, state, Some(AuxiliaryReason::Interrupted));
        Ok(())
    }

    /// How the conversation gets its name, if it has none.
    pub(super) async fn naming(&mut self, answer: &str) -> Result<Option<Naming>, GatewayError> {
        let session = &self.session;
        if !session.title.is_empty() || session.surface == sessions::DELEGATED {
            return Ok(None);
        }
        let asked = match self.asked.take() {
            Some(asked) => asked,
            // It was taken over after its beginning.
            None => {
                let run = self.run.id;
                let read = move |tx: &mut Tx<'_>| tape::inputs_before(tx, run, i64::MAX);
                let inputs = self.options.db.read(read).await?;
                let first = inputs.into_iter().next_back().map(|entry| entry.event);
                match first {
                    Some(TapeEvent::InputMessage(input)) => input.text,
                    _ => return Ok(None),
                }
            }
        };
        let (asked, thinker) = (self.clean(&asked), &*self.options.thinker);
        let of = (&self.run.agent, self.run.session);
        Ok(Naming::of(of, &self.agent.models, thinker, (&asked, answer)))
    }

    /// Puts what was said up to a place into a summary, once in a run. `answer` is what the run may need
    /// for its own answer after that.
    pub(super) async fn compact(
        &mut self,
        through: i64,
        answer: Amount,
    ) -> Result<Compacted, GatewayError> {
        let models = self.options.thinker.preferred(&self.agent.models, contract(KIND).preference);
        if self.state.auxiliary_tasks > 0 || models.is_empty() {
            return Ok(Compacted::Nothing);
        }
        let Some(material) = self.material(through).await? else {
            return Ok(Compacted::Nothing);
        };
        let (mut request, mut attempt) = (request(&material.input, Vec::new()), 1);
        let mut before = Amount::default();
        loop {
            let reserved = self.options.thinker.worst_case(&models, &request);
            match self.begin_task(&material, attempt, (reserved, before), answer).await? {
                Begun::Yes => {}
                Begun::TooDear => return Ok(Compacted::Nothing),
                Begun::Lost => return Ok(Compacted::Lost),
            }
            crash_point!("run.before_side_call");
            let tried = match self.try_task(&models, &material, &request, reserved).await? {
                Asked::Answered(tried) => tried,
                Asked::Interrupted | Asked::TooLate => {
                    let open = OpenTask { task: material.task, kind: KIND, attempt };
                    self.lose_task(open, State::Cancelled).await?;
                    return Ok(Compacted::Called);
                }
            };
            crash_point!("run.after_side_call");
            let tries = Tries { repairs: attempt - 1, failures: 1, most_failures: 1 };
            match decide::next(tried.came, tries) {
                Next::Repair => {
                    let fault = tried.detail.as_deref().unwrap_or_default();
                    request = repaired(&request, &tried.answer, fault);
                    (attempt, before) = (attempt + 1, tried.charged);
                }
                Next::Succeed => return self.summarised(material, attempt, tried).await,
                // It is not waited for.
                Next::Later => {
                    self.task_failed(&material, attempt, tried, AuxiliaryReason::ModelFailed);
                    return Ok(Compacted::Nothing);
                }
                Next::GiveUp(why) => {
                    self.task_failed(&material, attempt, tried, why);
                    return Ok(Compacted::Nothing);
                }
            }
        }
    }

    /// What is to be put into a summary. Nothing: there is nothing, or it was not possible just now.
    async fn material(&self, through: i64) -> Result<Option<Material>, GatewayError> {
        let (session, now) = (self.run.session, self.options.clock.now());
        let read = move |tx: &mut Tx<'_>| {
            let since = Timestamp::from_unix_millis(
                now.as_unix_millis() - i64::try_from(AFTER_FAILURE.as_millis()).unwrap_or(0),
            );
            if auxiliary_tasks::has_failed_since(tx, session, since)? {
                return Ok(None);
            }
            let before = session_summaries::one(tx, session)?;
            let after = before.as_ref().map_or(0, |of| of.through);
            let (between, most) = ((after, through + 1), (MOST_RUNS, MOST_EVENTS));
            let from = tape::From::Oldest;
            Ok(Some((before, tape::spoken_between(tx, session, between, most, from)?)))
        };
        let Some((before, mut runs)) = self.options.db.read(read).await? else { return Ok(None) };
        let events: usize = runs.iter().map(|run| run.entries.len()).sum();
        if events >= MOST_EVENTS as usize && runs.len() > 1 {
            // Of the last one there may be more.
            runs.pop();
        }
        let (mut text, mut trust) = (String::new(), Trust::Operator);
        let mut reached = None;
        for run in runs {
            let (place, events): (i64, Events) = (run.place, (run.run, run.entries));
            let (said, of) = transcript(std::iter::once(&events));
            let length = text.chars().count() + said.chars().count();
            if length > MOST_CHARS && reached.is_some() {
                break;
            }
            trust = trust.max(of);
            text.push_str(&said);
            reached = Some(place);
        }
        let Some(through) = reached.filter(|_| !text.trim().is_empty()) else { return Ok(None) };
        let text = decide::excerpt(&self.clean(&text), MOST_CHARS);
        let trust = before.as_ref().map_or(trust, |of| trust.max(of.trust));
        let input = AuxiliaryInput::Summary(SummaryInput {
            text,
            before: before.map(|of| of.text),
            shape: SummaryShape::Notes,
            max_chars: SUMMARY_CHARS,
        });
        Ok(Some(Material { task: new_id(), input, through, trust }))
    }

    /// Writes down that a model is about to be asked, if that is not too dear.
    async fn begin_task(
        &mut self,
        material: &Material,
        attempt: u32,
        (reserved, before): (Amount, Amount),
        answer: Amount,
    ) -> Result<Begun, GatewayError> {
        match attempt {
            1 => self.beside.tasks.push(TaskRow::New(self.new_task(material)?)),
            _ => self.beside.spent = Some(before),
        }
        let (decided, state) = (self.pending.len(), self.state.clone());
        let kept = self.beside.clone();
        let worst = reserved.plus(answer);
        if policy::too_dear(&self.state, &self.limits, self.used(), worst).is_some() {
            self.not_begun(material, attempt, before, "the run may not take as much");
            return Ok(Begun::TooDear);
        }
        let now = self.options.clock.now();
        let change = Change {
            reserved,
            charged: before,
            begun_at: Some(now),
            ..Change::to(State::Running, attempt)
        };
        self.beside.tasks.push(TaskRow::Changed(material.task, Box::new(change)));
        self.push(TapeEvent::AuxTask(AuxTask {
            reserved_tokens: reserved.tokens,
            reserved_micros: reserved.micros,
            ..event(material, State::Running, attempt, before)
        }));
        // No turn of the run's own has this number.
        self.beside.reserve = Some(self.reserve(0, attempt, reserved));
        match self.flush(Then::GoOn).await? {
            Committed::Done { .. } => Ok(Begun::Yes),
            Committed::Spent(scope) => {
                self.pending.truncate(decided);
                (self.state, self.beside) = (state, kept);
                self.not_begun(material, attempt, before, &format!("the budget {scope} is spent"));
                Ok(Begun::TooDear)
            }
            Committed::Lost | Committed::Signalled | Committed::QueueFull(_) => Ok(Begun::Lost),
        }
    }

    fn new_task(&self, material: &Material) -> Result<NewTask, GatewayError> {
        Ok(NewTask {
            id: material.task,
            key: material.task.to_string(),
            kind: KIND,
            purpose: AuxiliaryPurpose::Compaction,
            agent: self.run.agent.clone(),
            session: Some(self.run.session),
            run: Some(self.run.id),
            // It is made of tapes, and would be as long as they are.
            input: None,
            input_sha256: digest(&checked(&material.input)?.to_string()),
        })
    }

    /// Says that no model is asked, because there is nothing left for it.
    fn not_begun(&mut self, material: &Material, attempt: u32, before: Amount, why: &str) {
        let reason = AuxiliaryReason::BudgetSpent;
        let model = None;
        self.task_ended(material, attempt.max(2) - 1, before, (reason, model, why.to_owned()));
    }

    /// One attempt, unless somebody wants something else, or the time of the run is up.
    async fn try_task(
        &self,
        models: &[String],
        material: &Material,
        request: &ModelRequest,
        reserved: Amount,
    ) -> Result<Asked<Tried>, GatewayError> {
        let (thinker, outgoing) = (&*self.options.thinker, &*self.options.outgoing);
        let call = try_once(thinker, outgoing, (models, reserved), &material.input, request);
        let mut call = std::pin::pin!(call);
        let left = self.limits.active.as_millis().saturating_sub(self.used().active.as_millis());
        let mut limit = std::pin::pin!(tokio::time::sleep(std::time::Duration::from_millis(left)));
        let signalled = self.signalled.clone();
        loop {
            tokio::select! {
                biased;
                tried = &mut call => return Ok(Asked::Answered(tried)),
                () = signalled.called() => {
                    if self.is_stopped().await? {
                        return Ok(Asked::Interrupted);
                    }
                }
                () = &mut limit => return Ok(Asked::TooLate),
            }
        }
    }

    /// Keeps the summary, in a commit of its own: the model that is asked next reads it.
    async fn summarised(
        &mut self,
        material: Material,
        attempt: u32,
        tried: Tried,
    ) -> Result<Compacted, GatewayError> {
        let Some(AuxiliaryOutput::Summary(text)) = tried.output else {
            self.task_failed(&material, attempt, tried, AuxiliaryReason::InvalidOutput);
            return Ok(Compacted::Nothing);
        };
        let (charged, now) = (tried.charged, self.options.clock.now());
        let change = Change {
            output: Some(crate::store::to_json(&text)?),
            model: tried.model.clone(),
            charged,
            ended_at: Some(now),
            ..Change::to(State::Succeeded, attempt)
        };
        self.beside.tasks.push(TaskRow::Changed(material.task, Box::new(change)));
        let (through, trust) = (material.through, material.trust);
        self.beside.summary = Some((material.task, Summary { through, text: text.0, trust }));
        self.beside.spent = Some(charged);
        self.progress = true;
        self.push(TapeEvent::AuxTask(AuxTask {
            model: tried.model,
            ..event(&material, State::Succeeded, attempt, charged)
        }));
        match self.flush(Then::GoOn).await? {
            Committed::Done { .. } => {
                metrics::side_call(KIND, State::Succeeded, None);
                Ok(Compacted::Made)
            }
            _ => Ok(Compacted::Lost),
        }
    }

    fn task_failed(
        &mut self,
        material: &Material,
        attempt: u32,
        tried: Tried,
        why: AuxiliaryReason,
    ) {
        self.beside.spent = Some(tried.charged);
        let why = (why, tried.model, tried.detail.unwrap_or_default());
        self.task_ended(material, attempt, tried.charged, why);
    }

    /// Says that there is no summary, with the question to the model that follows.
    fn task_ended(
        &mut self,
        material: &Material,
        attempt: u32,
        charged: Amount,
        (reason, model, detail): (AuxiliaryReason, Option<String>, String),
    ) {
        let now = self.options.clock.now();
        let change = Change {
            model: model.clone(),
            charged,
            reason: Some(reason),
            detail: Some(detail.clone()),
            ended_at: Some(now),
            ..Change::to(State::Failed, attempt)
        };
        self.beside.tasks.push(TaskRow::Changed(material.task, Box::new(change)));
        self.push(TapeEvent::AuxTask(AuxTask {
            model,
            reason: Some(reason),
            detail: Some(detail),
            ..event(material, State::Failed, attempt, charged)
        }));
        metrics::side_call(KIND, State::Failed, Some(reason));
    }
}

/// Whether an attempt was begun.
enum Begun {
    Yes,
    TooDear,
    Lost,
}

fn event(material: &Material, state: State, attempt: u32, charged: Amount) -> AuxTask {
    AuxTask {
        task: material.task,
        task_kind: KIND,
        state,
        attempt,
        model: None,
        reserved_tokens: 0,
        reserved_micros: 0,
        charged_tokens: charged.tokens,
        charged_micros: charged.micros,
        reason: None,
        detail: None,
    }
}
