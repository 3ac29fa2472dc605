//! The tape of a run: what happened, in order, as every surface and the engine itself read it.
//!
//! The state of a run is a fold over its tape, so an event holds what that needs and what a reader
//! wants to see, and nothing that could be looked up.

use serde::{Deserialize, Serialize};

use crate::ids::{ApprovalId, ConnectorId, EnvelopeId, RunId, SurfaceId};
use crate::runtime_contracts::{
    ApprovalState, ApprovalSubject, GateDecision, GateReason, ModelFinish, OutboxState, RiskLevel,
    RunEnd, RunLifecyclePhase, TapeEventKind, ToolEffect, ToolOutcome, ToolReach, Trust,
};
use crate::time::Timestamp;

mod limits;
#[cfg(test)]
mod tests;

pub use limits::Limits;

/// The version of the shapes below, written with each event.
pub const SCHEMA: u32 = 1;

/// An event with its place on the tape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TapeEntry {
    /// Its number: larger than those of all events before it.
    pub seq: i64,
    /// When it was written down.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: TapeEvent,
}

/// What can happen in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", content = "payload")]
pub enum TapeEvent {
    /// The run was created.
    #[serde(rename = "run.queued")]
    RunQueued(Queued),
    /// The run moved to another phase.
    #[serde(rename = "run.phase")]
    RunPhase(Phase),
    /// A message for the run to answer.
    #[serde(rename = "input.message")]
    InputMessage(Input),
    /// A model is about to be asked.
    #[serde(rename = "model.requested")]
    ModelRequested(ModelRequested),
    /// A piece of a streamed answer.
    #[serde(rename = "model.delta")]
    ModelDelta(ModelDelta),
    /// An attempt was given up; readers drop its deltas.
    #[serde(rename = "model.abandoned")]
    ModelAbandoned(ModelAbandoned),
    /// A model answered.
    #[serde(rename = "model.completed")]
    ModelCompleted(ModelCompleted),
    /// The model asked for a tool call.
    #[serde(rename = "tool.proposed")]
    ToolProposed(ToolProposed),
    /// The gate decided on a tool call.
    #[serde(rename = "tool.gated")]
    ToolGated(ToolGated),
    /// A human was asked.
    #[serde(rename = "approval.requested")]
    ApprovalRequested(ApprovalRequested),
    /// The human's decision, or its expiry.
    #[serde(rename = "approval.decided")]
    ApprovalDecided(ApprovalDecided),
    /// A tool call is about to be made.
    #[serde(rename = "tool.started")]
    ToolStarted(ToolStarted),
    /// A tool call ended.
    #[serde(rename = "tool.completed")]
    ToolCompleted(ToolCompleted),
    /// What is shown in the session changed.
    #[serde(rename = "a2ui.update")]
    A2uiUpdate(A2uiUpdate),
    /// A message was put into the outbox.
    #[serde(rename = "delivery.enqueued")]
    DeliveryEnqueued(DeliveryEnqueued),
    /// What became of such a message.
    #[serde(rename = "delivery.settled")]
    DeliverySettled(DeliverySettled),
    /// The run reached its end.
    #[serde(rename = "run.finished")]
    RunFinished(RunFinished),
}

impl TapeEvent {
    /// Its kind.
    pub fn kind(&self) -> TapeEventKind {
        match self {
            Self::RunQueued(_) => TapeEventKind::RunQueued,
            Self::RunPhase(_) => TapeEventKind::RunPhase,
            Self::InputMessage(_) => TapeEventKind::InputMessage,
            Self::ModelRequested(_) => TapeEventKind::ModelRequested,
            Self::ModelDelta(_) => TapeEventKind::ModelDelta,
            Self::ModelAbandoned(_) => TapeEventKind::ModelAbandoned,
            Self::ModelCompleted(_) => TapeEventKind::ModelCompleted,
            Self::ToolProposed(_) => TapeEventKind::ToolProposed,
            Self::ToolGated(_) => TapeEventKind::ToolGated,
            Self::ApprovalRequested(_) => TapeEventKind::ApprovalRequested,
            Self::ApprovalDecided(_) => TapeEventKind::ApprovalDecided,
            Self::ToolStarted(_) => TapeEventKind::ToolStarted,
            Self::ToolCompleted(_) => TapeEventKind::ToolCompleted,
            Self::A2uiUpdate(_) => TapeEventKind::A2uiUpdate,
            Self::DeliveryEnqueued(_) => TapeEventKind::DeliveryEnqueued,
            Self::DeliverySettled(_) => TapeEventKind::DeliverySettled,
            Self::RunFinished(_) => TapeEventKind::RunFinished,
        }
    }
}

fn is_not(flag: &bool) -> bool {
    !flag
}

/// Of what does not say how far it is trusted.
fn unknown_trust() -> Trust {
    Trust::Untrusted
}

macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident {$($(#[$field_doc:meta])* $field:ident: $type:ty,)+})+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub struct $name {$($(#[$field_doc])* pub $field: $type,)+}
    )+};
}

payloads! {
    /// How a run came to be.
    Queued {
        /// The agent that does it.
        agent: String,
        /// The run that waits for it, and the call there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
    }

    /// The call that a run is made for.
    Parent {
        /// The run.
        run: RunId,
        /// Its call of `agent.delegate`.
        call: String,
        /// How many runs stand above this one.
        depth: u32,
    }

    /// Where a run is now.
    Phase {
        /// The phase.
        phase: RunLifecyclePhase,
        /// Why, in words for a reader.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    /// What somebody said.
    Input {
        /// What.
        text: String,
        /// Who.
        sender: String,
        /// How far that is trusted.
        trust: Trust,
        /// The channel that it came through, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connector: Option<ConnectorId>,
    }

    /// What a model is asked: a recipe, from which the prompt is built.
    ModelRequested {
        /// Which turn of the run, from 1.
        turn: u32,
        /// Which attempt at it, from 1.
        attempt: u32,
        /// How much of the session's history it may use.
        history_through: i64,
        /// How many tokens are set aside for it.
        reserved_tokens: u64,
        /// How much money is, in millionths of a dollar.
        reserved_micros: u64,
        /// How much the run may do, by which it was decided to ask.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<Limits>,
    }

    /// A piece of an answer.
    ModelDelta {
        /// Of which turn.
        turn: u32,
        /// Of which attempt at it.
        attempt: u32,
        /// How many characters came before it.
        offset: u64,
        /// The piece.
        text: String,
    }

    /// An attempt whose answer is not used, or is a part of one.
    ModelAbandoned {
        /// Of which turn.
        turn: u32,
        /// Which attempt.
        attempt: u32,
        /// Why.
        reason: String,
        /// What it is charged with.
        charged_tokens: u64,
        /// The same in millionths of a dollar.
        charged_micros: u64,
        /// What it had said, if that stands because there was no time for more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<Said>,
        /// Whether somebody broke it off, or is gone who had asked: no model has failed.
        #[serde(default, skip_serializing_if = "is_not")]
        interrupted: bool,
    }

    /// What a model had said.
    Said {
        /// What.
        text: String,
        /// How far the least trusted text is trusted that it had read by then.
        trust: Trust,
    }

    /// A model's answer.
    ModelCompleted {
        /// Of which turn.
        turn: u32,
        /// Of which attempt.
        attempt: u32,
        /// Which model gave it.
        model: String,
        /// Models of the agent that could not be had before it, each with why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        passed_over: Vec<String>,
        /// What it said.
        text: String,
        /// Which tools it wants called.
        calls: Vec<Call>,
        /// Why it stopped.
        finish: ModelFinish,
        /// Tokens that it read.
        input_tokens: u64,
        /// Tokens that it wrote.
        output_tokens: u64,
        /// What all of that cost, in millionths of a dollar.
        cost_micros: u64,
        /// The SHA-256 of what it was asked, in hexadecimal.
        prompt_sha256: String,
        /// How far the least trusted text is trusted that it had read by then. What it says is
        /// trusted no further, also where that text is not shown any more.
        #[serde(default = "unknown_trust")]
        trust: Trust,
    }

    /// A call as the model spelled it.
    Call {
        /// Its name within the run.
        id: String,
        /// The tool.
        tool: String,
        /// Its arguments, which need not be JSON.
        arguments: String,
    }

    /// A call with everything that decides about it.
    ToolProposed {
        /// Which call.
        call: String,
        /// The tool.
        tool: String,
        /// The arguments in the one form in which they are shown, hashed and executed.
        arguments: String,
        /// What the call is bound to besides, such as the content of a file that it changes.
        bindings: Vec<Binding>,
        /// The SHA-256 over all of that, in hexadecimal.
        payload_sha256: String,
        /// What it does to the world.
        effect: ToolEffect,
        /// How bad a mistake would be.
        risk: RiskLevel,
        /// What it touches.
        reach: ToolReach,
        /// What it does, in words for a human.
        summary: String,
        /// Whether it is done in the transaction that writes its result down: as long as there is none,
        /// nothing of it was done.
        #[serde(default, skip_serializing_if = "is_not")]
        with_result: bool,
    }

    /// Something that must be as it was when a call was proposed.
    Binding {
        /// What: `file:notes.md`.
        name: String,
        /// Its SHA-256 in hexadecimal, or nothing where there was nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<String>,
    }

    /// What the gate decided.
    ToolGated {
        /// Which call.
        call: String,
        /// The decision.
        decision: GateDecision,
        /// Why.
        reason: GateReason,
    }

    /// A question to a human.
    ApprovalRequested {
        /// The question.
        approval: ApprovalId,
        /// The call that it is about.
        call: String,
        /// What it is about.
        subject: ApprovalSubject,
        /// The same in words.
        summary: String,
        /// When it is too late.
        expires_at: Timestamp,
    }

    /// The answer.
    ApprovalDecided {
        /// The question.
        approval: ApprovalId,
        /// The call that it is about.
        call: String,
        /// The answer.
        state: ApprovalState,
        /// Who gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    /// A call that is about to be made.
    ToolStarted {
        /// Which call.
        call: String,
        /// Which attempt at it, from 1.
        attempt: u32,
    }

    /// How a call ended.
    ToolCompleted {
        /// Which call.
        call: String,
        /// How.
        outcome: ToolOutcome,
        /// What the model is told.
        content: String,
        /// Where the rest is, if that is only a part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<String>,
        /// How far it is trusted.
        trust: Trust,
    }

    /// A change of what is shown in the session.
    A2uiUpdate {
        /// The call that shows it.
        call: String,
        /// The surface.
        surface: SurfaceId,
        /// The message of A2UI that says what changes.
        message: serde_json::Value,
    }

    /// A message on its way.
    DeliveryEnqueued {
        /// Through which connector.
        connector: ConnectorId,
        /// Its name.
        envelope: EnvelopeId,
    }

    /// A message that has arrived, or will not.
    DeliverySettled {
        /// Through which connector.
        connector: ConnectorId,
        /// Its name.
        envelope: EnvelopeId,
        /// What became of it.
        state: OutboxState,
    }

    /// The end of a run.
    RunFinished {
        /// The phase that it ended in.
        phase: RunLifecyclePhase,
        /// Why.
        end: RunEnd,
        /// The answer, whole or in part.
        answer: String,
        /// What went wrong, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// What somebody who runs this installation can do about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// How much the run might do, by which it was decided to end it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<Limits>,
    }
}
