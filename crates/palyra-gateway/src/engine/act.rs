//! What a worker does about a run: asks models, makes calls.

use std::sync::Arc;

use futures_util::future::join_all;
use palyra_common::runtime_contracts::{ModelFinish, RunEnd, ToolEffect, ToolOutcome, Trust};
use palyra_common::tape::{
    A2uiUpdate, Call, ModelCompleted, ModelDelta, ModelRequested, Said, TapeEvent, ToolCompleted,
    ToolProposed, ToolStarted,
};
use palyra_models::{FinishReason, ModelRequest};
use palyra_policy::budget::Amount;
use palyra_policy::run::{self as policy, CallStep};
use palyra_storage::blob::BlobId;
use palyra_storage::{approval, crash_point};
use sha2::{Digest, Sha256};

use super::charge::{self, Reserve};
use super::commit::{Committed, Then};
use super::context::{self, Recipe};
use super::drive::{Flow, GivenUp, Held, is_yes};
use super::gating::{self, Around};
use super::model::{Asked, Sink, Stream, Thought, ThoughtError};
use super::unknown::not_done;
use crate::error::GatewayError;
use crate::store::tape;
use crate::tool::{Arguments, Invocation, ToolDone, ToolFault};
use crate::tools::DELEGATE;

/// What is longer goes to the blobs, and the model pages through it.
const INLINE_BYTES: usize = 16 * 1024;
/// How many calls of one answer are made.
pub(crate) const MOST_CALLS: usize = 16;

impl Held {
    /// One attempt at a turn of the model.
    pub(super) async fn ask(&mut self, turn: u32, attempt: u32) -> Result<Flow, GatewayError> {
        // What was done is written down at once, and the model sees it. The rest goes with the question.
        if self.pending.iter().any(tape::is_spoken) {
            self.spoken = None;
            if !matches!(self.flush(Then::GoOn).await?, Committed::Done { .. }) {
                return Ok(Flow::Stop);
            }
        }
        let recipe = Recipe::of(&self.run, &self.session);
        let history_through = recipe.history_until;
        let spoken = match self.spoken.take() {
            Some(spoken) => spoken,
            None => self.options.db.read(move |tx| recipe.read(tx)).await?,
        };
        let tools = self.options.tools.offered(&self.agent);
        let (outgoing, thinker) = (self.options.outgoing.clone(), self.options.thinker.clone());
        let built = match context::build(spoken, &*outgoing, &*thinker, &self.agent, tools) {
            Ok(built) => built,
            Err(too_long) => {
                self.finish(RunEnd::TokenLimit, Some(too_long.to_string())).await?;
                return Ok(Flow::Stop);
            }
        };
        self.told = built.told;
        self.state.trust = self.state.trust.max(built.trust);
        let reserved = thinker.worst_case(&self.agent.models, &built.request);
        if let Some(end) = policy::too_dear(&self.state, &self.limits, self.used(), reserved) {
            self.finish(end, None).await?;
            return Ok(Flow::Stop);
        }
        let (reserved_tokens, reserved_micros) = (reserved.tokens, reserved.micros);
        let (decided, before) = (self.pending.len(), self.state.clone());
        self.push(TapeEvent::ModelRequested(ModelRequested {
            turn,
            attempt,
            history_through,
            reserved_tokens,
            reserved_micros,
            limits: Some(self.limits),
        }));
        self.beside.reserve = Some(self.reserve(turn, attempt, reserved));
        match self.flush(Then::GoOn).await? {
            Committed::Done { .. } => {}
            Committed::Spent(scope) => {
                self.pending.truncate(decided);
                self.beside.reserve = None;
                self.state = before;
                self.finish(RunEnd::BudgetSpent, Some(scope)).await?;
                return Ok(Flow::Stop);
            }
            Committed::Lost | Committed::Signalled | Committed::QueueFull(_) => {
                return Ok(Flow::Stop);
            }
        }
        crash_point!("run.before_model");
        self.attempt(turn, attempt, built.request, reserved).await
    }

    async fn attempt(
        &mut self,
        turn: u32,
        attempt: u32,
        request: ModelRequest,
        reserved: Amount,
    ) -> Result<Flow, GatewayError> {
        let stream = Arc::new(Stream::default());
        let asked = self.stream(turn, attempt, &request, &stream).await?;
        let (asked, first_delta) = asked;
        self.beside.drop_deltas = first_delta;
        match asked {
            Asked::Answered(Ok(thought)) => {
                self.answered(turn, attempt, &request, thought);
                Ok(Flow::GoOn)
            }
            Asked::Answered(Err(error)) => {
                let owed = error.owed;
                self.abandon(turn, attempt, owed, GivenUp::Failed(error.what.clone()));
                self.later(error).await
            }
            Asked::Interrupted => {
                let interrupted = GivenUp::Interrupted("it was interrupted");
                self.abandon(turn, attempt, reserved, interrupted);
                Ok(Flow::GoOn)
            }
            Asked::TooLate => {
                // What it has said by now is the answer: there is no time for another one.
                let text = stream.so_far(&*self.options.outgoing);
                let said = Said { text, trust: self.state.trust };
                let said = Some(said).filter(|said| !said.text.is_empty());
                self.abandon(turn, attempt, reserved, GivenUp::OutOfTime(said));
                self.finish(RunEnd::TimeLimit, None).await?;
                Ok(Flow::Stop)
            }
        }
    }

    /// Asks, and writes down what streams out of it. Also says which event was the first piece.
    async fn stream(
        &mut self,
        turn: u32,
        attempt: u32,
        request: &ModelRequest,
        stream: &Arc<Stream>,
    ) -> Result<(Asked<Result<Thought, ThoughtError>>, Option<i64>), GatewayError> {
        let (thinker, models) = (self.options.thinker.clone(), self.agent.models.clone());
        let later = self.state.paid_failures;
        let mut sink = Sink(stream.clone());
        let mut call = thinker.think(&models, later, request, &mut sink);
        let left = self.limits.active.as_millis().saturating_sub(self.used().active.as_millis());
        let mut limit = std::pin::pin!(tokio::time::sleep(std::time::Duration::from_millis(left)));
        let (mut last, mut first) = (None, None);
        let signalled = self.signalled.clone();
        let asked = loop {
            tokio::select! {
                biased;
                answer = &mut call => break Asked::Answered(answer),
                () = signalled.called() => {
                    if self.is_stopped().await? {
                        break Asked::Interrupted;
                    }
                }
                () = &mut limit => break Asked::TooLate,
                () = stream.due(last) => {
                    let Some((offset, text)) = stream.take(&*self.options.outgoing) else {
                        continue;
                    };
                    self.push(TapeEvent::ModelDelta(ModelDelta { turn, attempt, offset, text }));
                    match self.flush(Then::GoOn).await? {
                        Committed::Done { first: seq, .. } => first = first.or(Some(seq)),
                        _ => break Asked::Interrupted,
                    }
                    last = Some(tokio::time::Instant::now());
                }
            }
        };
        Ok((asked, first))
    }

    /// Whether somebody wants the run to stop or to pause.
    async fn is_stopped(&self) -> Result<bool, GatewayError> {
        use super::signal::Signal;
        let run = self.run.id;
        let read =
            move |tx: &mut palyra_storage::Tx<'_>| crate::store::run_signals::of_run(tx, run);
        let signals = self.options.db.read(read).await?;
        let stops = |signal: &Signal| matches!(signal, Signal::Abort { .. } | Signal::Pause { .. });
        let is_new = |id: &String| !self.beside.absorbed.contains(id);
        Ok(signals.iter().any(|(id, signal)| is_new(id) && stops(signal)))
    }

    fn answered(&mut self, turn: u32, attempt: u32, request: &ModelRequest, thought: Thought) {
        let Thought { completion, passed_over, spent } = thought;
        let clean = |text: &str| self.clean(text);
        let call = |(n, call): (usize, palyra_models::ToolCall)| Call {
            // Providers reuse ids, and some give none.
            id: format!("t{turn}c{n}"),
            tool: call.name,
            arguments: clean(&call.arguments),
        };
        let wanted = completion.calls.len();
        // One more than are made: its result says that there were more.
        let calls = completion.calls.into_iter().take(MOST_CALLS + 1).enumerate().map(call);
        let calls: Vec<_> = calls.collect();
        let not_made = calls.get(MOST_CALLS).map(|call| call.id.clone());
        let usage = completion.usage;
        let answer = ModelCompleted {
            turn,
            attempt,
            model: completion.model,
            passed_over: passed_over.iter().map(|who| clean(who)).collect(),
            text: clean(&completion.text),
            calls,
            finish: match completion.finish {
                FinishReason::Stop => ModelFinish::Stop,
                FinishReason::ToolCalls => ModelFinish::ToolCalls,
                FinishReason::Length => ModelFinish::Length,
                FinishReason::Refused => ModelFinish::Refused,
            },
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_micros: spent.micros,
            prompt_sha256: digest(request),
            trust: self.state.trust,
        };
        self.beside.spent = Some(spent);
        self.progress = true;
        self.push(TapeEvent::ModelCompleted(answer));
        if let Some(call) = not_made {
            let told = format!(
                "of the {wanted} calls of one answer only the first {MOST_CALLS} are made: this one \
                 and those behind it were not; ask for them again"
            );
            self.complete(&call, ToolOutcome::Refused, told, Trust::Operator);
        }
    }

    /// What is set aside, of everything that it may be used of.
    fn reserve(&self, turn: u32, attempt: u32, amount: Amount) -> Reserve {
        let above = self.above.iter().map(|above| (&above.run, &above.agent));
        let runs = std::iter::once((&self.run, &self.agent)).chain(above.clone());
        Reserve {
            turn,
            attempt,
            amount,
            cap: self.agent.limits.cap,
            above: above.map(|(run, agent)| (run.id, agent.limits.cap)).collect(),
            scopes: charge::scopes(runs, self.options.clock.now()),
        }
    }

    /// Lets the gate decide on calls.
    pub(super) async fn gate(&mut self, calls: &[usize]) -> Result<Flow, GatewayError> {
        for index in calls {
            let call = self.state.calls[*index].call.clone();
            let around = Around {
                tools: &self.options.tools,
                agent: &self.agent,
                trust: self.state.trust,
                told: &self.told,
            };
            let gated = gating::decide(&around, &call, self.invocation(&call)).await;
            gated.events.into_iter().for_each(|event| self.push(event));
            if let Some((what, trust)) = gated.refused {
                self.complete(&call.id, ToolOutcome::Refused, what, trust);
            }
        }
        Ok(Flow::GoOn)
    }

    fn invocation(&self, call: &Call) -> Invocation {
        Invocation {
            run: self.run.id,
            call: call.id.clone(),
            session: self.run.session,
            place: self.session.clone(),
            agent: self.run.agent.clone(),
            depth: self.run.depth,
            arguments: serde_json::Value::Null,
            bindings: Vec::new(),
        }
    }

    /// A call as it would be made now.
    pub(super) async fn propose(&self, call: &Call) -> Result<ToolProposed, String> {
        let tool = self.options.tools.get(&call.tool);
        let tool = tool.ok_or_else(|| format!("there is no tool {} any more", call.tool))?;
        // The gate may have let it pass before somebody took it from the agent.
        if !self.agent.may_use(&call.tool) {
            return Err(format!("this agent may not use {} any more", call.tool));
        }
        let arguments = Arguments::parse(&call.arguments).map_err(|error| error.to_string())?;
        let invocation = Invocation { arguments: arguments.value.clone(), ..self.invocation(call) };
        let weighed = tool.weigh(&invocation).await.map_err(|fault| fault.to_string())?;
        Ok(gating::proposal(&invocation, &call.tool, arguments.text, weighed))
    }

    /// Begins calls, makes them, and writes down what came of them.
    pub(super) async fn start(&mut self, calls: &[usize]) -> Result<Flow, GatewayError> {
        // Whoever has stopped the run does not want to see anything done after that.
        if self.is_stopped().await? {
            self.signalled.call();
            return Ok(Flow::GoOn);
        }
        let mut made = Vec::new();
        for index in calls {
            let state = self.state.calls[*index].clone();
            match self.propose(&state.call).await {
                Ok(now) if self.is_as_decided(&state, &now).await? => made.push((*index, now)),
                // What it is bound to has changed: whatever was decided is void. What was begun
                // before stays in doubt, and is no matter for the gate.
                Ok(_) if state.step.started() > 0 => {
                    self.ask_human(*index).await?;
                }
                Ok(_) => {
                    if matches!(state.step, CallStep::Decided { .. }) {
                        self.changed.push(state.call.id.clone());
                    }
                    self.state.calls[*index].step = CallStep::Asked;
                    self.gate(&[*index]).await?;
                }
                Err(what) if state.step.started() > 0 => self.is_unknown(&state.call.id, &what),
                Err(what) => {
                    self.complete(&state.call.id, ToolOutcome::Failed, what, Trust::Untrusted);
                }
            }
        }
        if made.is_empty() {
            return Ok(Flow::GoOn);
        }
        for (index, _) in &made {
            let (call, attempt) = {
                let call = &self.state.calls[*index];
                (call.call.id.clone(), call.step.started() + 1)
            };
            self.push(TapeEvent::ToolStarted(ToolStarted { call, attempt }));
        }
        if !matches!(self.flush(Then::GoOn).await?, Committed::Done { .. }) {
            return Ok(Flow::Stop);
        }
        crash_point!("run.before_tools");
        self.make(made).await
    }

    /// Whether a call is still what was decided about, with a yes where one is needed.
    async fn is_as_decided(
        &self,
        state: &palyra_policy::run::CallState,
        now: &ToolProposed,
    ) -> Result<bool, GatewayError> {
        if state.payload_sha256.as_deref() != Some(&now.payload_sha256) {
            return Ok(false);
        }
        let CallStep::Decided { approval: id, .. } = state.step else { return Ok(true) };
        let record = self.options.db.read(move |tx| approval::one(tx, id)).await?;
        Ok(record.is_some_and(|record| {
            is_yes(record.state()) && record.payload_sha256 == now.payload_sha256
        }))
    }

    async fn make(&mut self, made: Vec<(usize, ToolProposed)>) -> Result<Flow, GatewayError> {
        let mut futures = Vec::new();
        for (index, proposed) in &made {
            let call = self.state.calls[*index].call.clone();
            let tool = self.options.tools.get(&call.tool);
            let arguments = serde_json::from_str(&proposed.arguments).unwrap_or_default();
            let bindings = proposed.bindings.clone();
            let invocation = Invocation { arguments, bindings, ..self.invocation(&call) };
            futures.push(async move {
                match tool {
                    Some(tool) => tool.run(&invocation).await,
                    None => Err(ToolFault::new("the tool is gone")),
                }
            });
        }
        let left = self.limits.active.as_millis().saturating_sub(self.used().active.as_millis());
        let mut limit = std::pin::pin!(tokio::time::sleep(std::time::Duration::from_millis(left)));
        let mut all = std::pin::pin!(join_all(futures));
        let signalled = self.signalled.clone();
        let results = loop {
            tokio::select! {
                biased;
                results = &mut all => break Some(results),
                () = signalled.called() => {
                    if self.is_stopped().await? {
                        break None;
                    }
                }
                () = &mut limit => break None,
            }
        };
        crash_point!("run.after_tools");
        match results {
            Some(results) => {
                for ((index, _), result) in made.iter().zip(results) {
                    self.ended(*index, result).await?;
                }
            }
            None => self.interrupted(&made),
        }
        self.progress = true;
        Ok(Flow::GoOn)
    }

    fn interrupted(&mut self, made: &[(usize, ToolProposed)]) {
        for (index, proposed) in made {
            let id = self.state.calls[*index].call.id.clone();
            if proposed.tool == DELEGATE {
                // It may have been given away by another worker.
                self.beside.stop.push(id.clone());
            }
            let (outcome, what) = match (proposed.effect, proposed.with_result) {
                (ToolEffect::SideEffect | ToolEffect::Idempotent, false) => {
                    (ToolOutcome::Unknown, "it was interrupted; nobody knows whether it was done")
                }
                (ToolEffect::SideEffect | ToolEffect::Idempotent, true) => {
                    (ToolOutcome::Failed, not_done(&proposed.tool))
                }
                (ToolEffect::ReadOnly, _) => (ToolOutcome::Failed, "it was interrupted"),
            };
            self.complete(&id, outcome, what.to_owned(), Trust::Operator);
        }
    }

    async fn ended(
        &mut self,
        index: usize,
        result: Result<ToolDone, ToolFault>,
    ) -> Result<(), GatewayError> {
        let id = self.state.calls[index].call.id.clone();
        let done = match result {
            Ok(done) => done,
            Err(fault) => {
                // What a tool says about a failure may be somebody else's words.
                self.complete(&id, ToolOutcome::Failed, fault.to_string(), Trust::Untrusted);
                return Ok(());
            }
        };
        if let Some(delegated) = done.delegated {
            self.beside.delegate.push((id, delegated.agent, delegated.task));
            return Ok(());
        }
        let sends = done.sends.into_iter().map(|envelope| (id.clone(), envelope));
        self.beside.send.extend(sends);
        let content = self.clean(&done.content);
        let (content, artifact) = self.shorten(content).await?;
        let (call, outcome, trust) = (id.clone(), ToolOutcome::Done, done.trust);
        let completed = ToolCompleted { call, outcome, content, artifact, trust };
        self.push(TapeEvent::ToolCompleted(completed));
        for shown in &done.shows {
            let (call, surface, message) = (id.clone(), shown.surface.clone(), shown.to_value());
            self.push(TapeEvent::A2uiUpdate(A2uiUpdate { call, surface, message }));
        }
        if !done.shows.is_empty() {
            self.beside.show.push((id, done.shows));
        }
        Ok(())
    }

    /// The same event, if it is a result with no more in it than the tape takes.
    pub(super) async fn shortened(&mut self, event: TapeEvent) -> Result<TapeEvent, GatewayError> {
        let TapeEvent::ToolCompleted(done) = event else { return Ok(event) };
        let (content, artifact) = self.shorten(done.content).await?;
        Ok(TapeEvent::ToolCompleted(ToolCompleted { content, artifact, ..done }))
    }

    /// Puts what is too long where the model can page through it.
    async fn shorten(&mut self, content: String) -> Result<(String, Option<String>), GatewayError> {
        if content.len() <= INLINE_BYTES {
            return Ok((content, None));
        }
        let bytes = bytes::Bytes::from(content.clone().into_bytes());
        let id: BlobId = self.options.blobs.put(bytes).await?;
        let cut = (0..=INLINE_BYTES).rev().find(|at| content.is_char_boundary(*at)).unwrap_or(0);
        let (head, whole) = (&content[..cut], content.len());
        let note = format!(
            "{head}\n[these are the first {cut} of {whole} bytes; read on with artifact.read \
             {{\"id\": \"{id}\", \"offset\": {cut}}}]"
        );
        self.beside.keep.push(id.clone());
        Ok((note, Some(id.to_string())))
    }
}

fn digest(request: &ModelRequest) -> String {
    let bytes = serde_json::to_vec(request).unwrap_or_default();
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
