//! The end of a run: what it was, and what is said about it.

use palyra_common::ids::{AgentId, EnvelopeId};
use palyra_common::runtime_contracts::{
    AuxiliaryTaskState, RetryClass, RunEnd, RunLifecyclePhase, ToolOutcome,
};
use palyra_common::tape::{RunFinished, TapeEvent};
use palyra_common::time::Duration;
use palyra_connector_core::{CleanText, Envelope, Operation, Outgoing, Release};
use palyra_policy::run::{Event, RunState};

use super::children::given_away;
use super::commit::{Committed, Then};
use super::drive::{GivenUp, Held};
use super::phase::moved;
use super::unknown::left_over;
use crate::error::GatewayError;
use crate::metrics;
use crate::reply::reply_envelope;
use crate::store::runs::Run;
use crate::store::sessions::Session;
use crate::store::tape;

/// What every platform takes in one message.
const MAX_TEXT: usize = 2_000;
/// An answer that is longer is cut, and says so: nobody reads it in a channel.
const MAX_PARTS: usize = 16;
/// What a model is told about a message that does not fit into its queue.
const NOT_SENT: &str = "it was not sent: the queue of the channel is full; try again later";
/// After how long a run looks again whether its answer fits into its queue.
const QUEUE_FULL_FOR: Duration = Duration::from_secs(5);
/// Why it waits.
pub(crate) const QUEUE_FULL: &str = "its channel is full";

impl Held {
    /// Ends the run, and delivers what it has to say.
    pub(super) async fn finish(
        &mut self,
        end: RunEnd,
        detail: Option<String>,
    ) -> Result<(), GatewayError> {
        let hint = next_step(end).map(|step| step.replace("AGENT", self.run.agent.as_str()));
        self.end(end, detail, hint).await
    }

    /// The same, with what can be done about it.
    pub(super) async fn end(
        &mut self,
        end: RunEnd,
        detail: Option<String>,
        hint: Option<String>,
    ) -> Result<(), GatewayError> {
        let phase = self.goes(ended_by(end, &self.state))?;
        let answer = self.clean(&answer(end, &self.state.said, detail.as_deref()));
        if let Some(attempt) = self.state.asked {
            let charged = self.reserved().await?;
            let ended = GivenUp::Failed("the run has ended".to_owned());
            self.abandon(self.state.turns + 1, attempt, charged, ended);
        }
        if let Some(open) = self.state.auxiliary {
            self.lose_task(open, AuxiliaryTaskState::Cancelled).await?;
        }
        // What was to be given to others is not, and what they have begun they do not end.
        self.beside.delegate.clear();
        self.beside.stop.extend(given_away(&self.state));
        left_over(&self.state).into_iter().for_each(|event| self.push(event));
        let limits = Some(self.limits).filter(|_| self.known);
        let finished = RunFinished { phase, end, answer: answer.clone(), detail, hint, limits };
        if phase != RunLifecyclePhase::Aborted {
            self.beside.reply = reply(&*self.options.outgoing, &self.run, &self.session, &answer)?;
        }
        if end == RunEnd::Answered {
            self.beside.naming = self.naming(&answer).await?;
        }
        self.beside.answer = answer;
        let progress = std::mem::replace(&mut self.progress, true);
        let before = self.state.clone();
        self.push(TapeEvent::RunFinished(finished));
        match self.flush(Then::End(phase, end)).await? {
            Committed::QueueFull(_) => {
                self.state = before;
                self.pending.pop();
                self.progress = progress;
                self.answer_later().await
            }
            Committed::Done { .. } => {
                metrics::ended(end);
                Ok(())
            }
            Committed::Lost | Committed::Signalled | Committed::Spent(_) => Ok(()),
        }
    }

    /// The answer waits until there is room for it.
    async fn answer_later(&mut self) -> Result<(), GatewayError> {
        (self.beside.reply, self.beside.naming) = (None, None);
        let later = self.options.clock.now() + QUEUE_FULL_FOR;
        let waits_already = self.waits_already().await?;
        match &self.pending[..] {
            // What the tape says already is not said again: it may be a long time.
            [] | [TapeEvent::RunPhase(_)] if waits_already => {
                self.pending.clear();
                self.state.phase = RunLifecyclePhase::Queued;
            }
            // It has not begun, and does not.
            _ if self.state.phase == RunLifecyclePhase::Queued => {
                self.push(moved(RunLifecyclePhase::Queued, Some(QUEUE_FULL.to_owned())));
            }
            _ => {
                self.moves(Event::Later, Some(QUEUE_FULL.to_owned()))?;
            }
        }
        if self.flush(Then::Later(Some(later))).await? == Committed::Signalled {
            // It does not wait after all, and what it has done is kept.
            self.flush(Then::GoOn).await?;
        }
        Ok(())
    }

    /// Whether the run waits for its channel by what its tape says last.
    async fn waits_already(&self) -> Result<bool, GatewayError> {
        let run = self.run.id;
        let last = self.options.db.read(move |tx| tape::last_phase(tx, run)).await?;
        Ok(match last.map(|last| last.event) {
            Some(TapeEvent::RunPhase(moved)) => {
                moved.phase == RunLifecyclePhase::Queued
                    && moved.reason.as_deref() == Some(QUEUE_FULL)
            }
            _ => false,
        })
    }

    /// Takes back a message of a call that does not fit into its queue, and says so in place of the
    /// call's result: nothing of it has happened. Says whether it was one of a call.
    pub(super) fn unsend(&mut self, envelope: &EnvelopeId) -> bool {
        let found = self.beside.send.iter().find(|(_, sent)| sent.id == *envelope);
        let Some((call, _)) = found.cloned() else { return false };
        self.beside.send.retain(|(of, _)| *of != call);
        self.beside.show.retain(|(of, _)| *of != call);
        self.pending.retain(|event| match event {
            TapeEvent::A2uiUpdate(shown) => shown.call != call,
            _ => true,
        });
        for event in &mut self.pending {
            if let TapeEvent::ToolCompleted(done) = event
                && done.call == call
            {
                done.outcome = ToolOutcome::Failed;
                NOT_SENT.clone_into(&mut done.content);
            }
        }
        true
    }
}

/// The message that goes back to where the question came from.
pub(super) fn reply(
    outgoing: &dyn Outgoing,
    run: &Run,
    session: &Session,
    answer: &str,
) -> Result<Option<Envelope>, GatewayError> {
    let Some((connector, conversation)) = &session.reply_to else {
        return Ok(None);
    };
    let reply_to = run.answers.as_deref().and_then(|id| id.parse().ok());
    let mut texts = CleanText::pieces(answer, MAX_TEXT, outgoing);
    if texts.is_empty() {
        return Ok(None);
    }
    if texts.len() > MAX_PARTS {
        texts.truncate(MAX_PARTS - 1);
        let note = format!(
            "[The answer is longer than {MAX_PARTS} messages, and was cut here: `palyra sessions \
             show {}` has all of it]",
            run.session
        );
        texts.push(CleanText::of(&note, outgoing));
    }
    let part = |text| Operation::Send { text, reply_to: reply_to.clone() };
    let parts = texts.into_iter().map(part).collect();
    let id = reply_envelope(run.id)?;
    let (connector, conversation) = (connector.clone(), conversation.clone());
    Ok(Some(Envelope { connector, id, conversation, parts, release: Release::AtOnce }))
}

/// What happens to a run that ends: what gave an answer is completed, also if a limit cut it.
pub(crate) fn ended_by(end: RunEnd, state: &RunState) -> Event {
    match end {
        RunEnd::Answered
        | RunEnd::HandedOver
        | RunEnd::NoAnswer
        | RunEnd::AnswerCut
        | RunEnd::TurnLimit
        | RunEnd::ToolCallLimit
        | RunEnd::TimeLimit
        | RunEnd::ModelRefused => Event::Answered,
        RunEnd::BudgetSpent | RunEnd::TokenLimit | RunEnd::CostLimit if state.turns > 0 => {
            Event::Answered
        }
        RunEnd::BudgetSpent
        | RunEnd::TokenLimit
        | RunEnd::CostLimit
        | RunEnd::ModelFailed
        | RunEnd::CrashLoop
        | RunEnd::Misconfigured => Event::Failed,
        RunEnd::Stopped => Event::Aborted,
        RunEnd::DeadlinePassed => Event::DeadlinePassed,
    }
}

/// What is said at the end: the answer, or what there is of it and why there is no more.
pub(super) fn answer(end: RunEnd, said: &str, detail: Option<&str>) -> String {
    let because = match end {
        RunEnd::Answered => return said.to_owned(),
        RunEnd::HandedOver => "It is for whoever asked to go on",
        RunEnd::NoAnswer => "The model gave no answer",
        RunEnd::AnswerCut => "The answer was cut: it may not be longer",
        RunEnd::TurnLimit => "I stopped: the limit of turns is reached",
        RunEnd::ToolCallLimit => "I stopped: the limit of tool calls is reached",
        RunEnd::TimeLimit => "I stopped: the time limit is reached",
        RunEnd::TokenLimit => "I stopped: the limit of tokens is reached",
        RunEnd::CostLimit => "I stopped: the limit of cost is reached",
        RunEnd::BudgetSpent => "I stopped: the budget is spent",
        RunEnd::ModelFailed => "I could not answer: the model failed",
        RunEnd::ModelRefused if !said.is_empty() => return said.to_owned(),
        RunEnd::ModelRefused => "The model refused to answer",
        RunEnd::CrashLoop => "I could not answer: this failed several times",
        RunEnd::Misconfigured => "I could not answer: this agent is not set up",
        RunEnd::Stopped => "Stopped",
        RunEnd::DeadlinePassed => "I could not answer in time",
    };
    let note = match detail {
        Some(detail) if end != RunEnd::Stopped => format!("[{because}: {detail}]"),
        Some(_) | None => format!("[{because}]"),
    };
    if said.is_empty() { note } else { format!("{said}\n\n{note}") }
}

/// The tools that a run asks for of whoever began it.
pub(super) fn handed_over(end: RunEnd, state: &RunState) -> Option<String> {
    let handed = state.calls.iter().filter(|call| state.is_handed(call));
    let names: Vec<_> = handed.map(|call| call.call.tool.as_str()).collect();
    (end == RunEnd::HandedOver).then(|| names.join(", "))
}

/// What to do about a model that failed for good, or as often as it is tried: nothing is tried again by
/// itself any more.
pub(super) fn after_enough(class: RetryClass, hint: String, agent: &AgentId) -> String {
    match class {
        RetryClass::Permanent => hint,
        RetryClass::RateLimit | RetryClass::TransientNetwork | RetryClass::ConnectorRestarting => {
            format!(
                "It was tried as often as a run may. Ask again in a while; if it lasts, look at the \
                 provider's page about its state, or let the agent think with another model: `palyra \
                 agents set {agent} models=NAME,NAME`."
            )
        }
    }
}

/// What somebody who runs this installation can do about such an end of a run of the agent AGENT.
pub(super) fn next_step(end: RunEnd) -> Option<&'static str> {
    match end {
        RunEnd::Answered | RunEnd::HandedOver | RunEnd::Stopped | RunEnd::ModelRefused => None,
        RunEnd::NoAnswer => Some("Ask again, or in other words."),
        RunEnd::AnswerCut => Some(
            "Ask for less at once, or raise `models.entries.NAME.max_output_tokens` of the model.",
        ),
        RunEnd::TurnLimit => Some(
            "Tell it to go on, or raise the limit: `palyra agents set AGENT limits.turns=NUMBER`.",
        ),
        RunEnd::ToolCallLimit => Some(
            "Tell it to go on, or raise the limit: `palyra agents set AGENT limits.tool_calls=NUMBER`.",
        ),
        RunEnd::TimeLimit => Some(
            "Tell it to go on, or raise the limit: `palyra agents set AGENT limits.active=TIME`.",
        ),
        RunEnd::TokenLimit => Some(
            "Ask for less at once, or raise the limit; `palyra agents show AGENT` tells \
             `limits.cap.tokens` of a run and `limits.context_tokens` of what is read at once.",
        ),
        RunEnd::CostLimit => Some(
            "Ask for less at once, or raise the limit: \
             `palyra agents set AGENT limits.cap.micros=NUMBER`.",
        ),
        RunEnd::BudgetSpent => Some(
            "Wait for the next day where it is a budget by day, or raise it: `palyra agents show AGENT` \
             tells them, `palyra agents set` changes them.",
        ),
        // Whose model it is tells more.
        RunEnd::ModelFailed => Some("`palyra models test` tells how the models are."),
        RunEnd::CrashLoop => {
            Some("`palyra daemon logs` tells what happened; what is asked anew begins anew.")
        }
        RunEnd::Misconfigured => Some("`palyra agents list` tells which agents there are."),
        RunEnd::DeadlinePassed => {
            Some("Ask again; if it lasts, `palyra doctor` tells whether runs are worked on.")
        }
    }
}
