//! Values of the API as gRPC tells them.

use palyra_common::StableErrorEnvelope;
use palyra_common::api::{AgentSession, Approval, Run};
use palyra_gateway::TapeLine;

use super::proto::gateway as proto;

pub(super) fn session(session: AgentSession) -> proto::Session {
    proto::Session {
        id: session.id.to_string(),
        title: session.title,
        agent: session.agent.to_string(),
        surface: session.surface,
        channel: session.channel.map(|channel| channel.to_string()),
        conversation: session.conversation.map(|conversation| conversation.to_string()),
        run_id: session.run.map(|run| run.to_string()),
        archived_at: session.archived_at.map(|at| at.as_unix_millis()),
        created_at: session.created_at.as_unix_millis(),
        changed_at: session.changed_at.as_unix_millis(),
    }
}

pub(super) fn run(run: Run) -> proto::Run {
    proto::Run {
        id: run.id.to_string(),
        session_id: run.session.to_string(),
        agent: run.agent.to_string(),
        phase: run.phase.to_string(),
        end: run.end.map(|end| end.to_string()),
        detail: run.detail,
        hint: run.hint,
        last_seq: run.last_seq,
        due_at: run.due_at.map(|at| at.as_unix_millis()),
        active_millis: i64::try_from(run.active.as_millis()).unwrap_or(i64::MAX),
        tokens: run.tokens,
        cost_micros: run.cost_micros,
        parent_run_id: run.parent.map(|parent| parent.to_string()),
        created_at: run.created_at.as_unix_millis(),
        changed_at: run.changed_at.as_unix_millis(),
    }
}

pub(super) fn approval(approval: Approval) -> proto::Approval {
    let asker = approval.asker.map(|asker| proto::approval::Asker {
        run_id: asker.run.to_string(),
        call: asker.call,
        session_id: asker.session.to_string(),
        agent: asker.agent.to_string(),
    });
    proto::Approval {
        id: approval.id.to_string(),
        state: approval.state.to_string(),
        subject: approval.subject.to_string(),
        summary: approval.summary,
        risk: approval.risk.to_string(),
        payload: approval.payload,
        payload_sha256: approval.payload_sha256,
        asker,
        requested_at: approval.requested_at.as_unix_millis(),
        expires_at: approval.expires_at.as_unix_millis(),
        decided_by: approval.decided_by,
        decided_at: approval.decided_at.map(|at| at.as_unix_millis()),
        reason: approval.reason,
    }
}

pub(super) fn error(envelope: &StableErrorEnvelope) -> proto::StableError {
    proto::StableError {
        code: envelope.code().to_owned(),
        message: envelope.message().to_owned(),
        recovery_hint: envelope.recovery_hint().to_owned(),
        retryable: envelope.retryable(),
        details_json: envelope.details().map(ToString::to_string).unwrap_or_default(),
    }
}

pub(super) fn entry(line: TapeLine) -> proto::RunStreamEvent {
    let TapeLine { seq, at, kind, payload, schema } = line;
    proto::RunStreamEvent {
        seq,
        at: at.as_unix_millis(),
        kind,
        payload_json: payload,
        schema_version: schema,
    }
}
