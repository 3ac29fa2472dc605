//! What is kept, as the APIs show it.

use palyra_common::api;
use palyra_storage::StorageError;
use palyra_storage::approval::ApprovalRecord;

use crate::history::SessionSaid;
use crate::store::runs::Run;
use crate::store::sessions::Session;

impl Session {
    /// As it is shown.
    pub fn shown(self) -> api::AgentSession {
        let (channel, conversation) = self.reply_to.unzip();
        api::AgentSession {
            id: self.id,
            version: self.version,
            title: self.title,
            agent: self.agent,
            surface: self.surface,
            channel,
            conversation,
            run: self.holder,
            forked_from: self.fork.map(|fork| fork.from),
            archived_at: self.archived_at,
            created_at: self.created_at,
            changed_at: self.changed_at,
        }
    }
}

impl Run {
    /// As it is shown, without what is told only where one is asked for.
    pub fn shown(self) -> api::Run {
        api::Run {
            id: self.id,
            session: self.session,
            agent: self.agent,
            phase: self.phase,
            end: self.ended,
            detail: None,
            hint: None,
            last_seq: self.next_seq - 1,
            due_at: self.due_at,
            active: self.active,
            tokens: self.tokens,
            cost_micros: self.micros,
            parent: self.parent.map(|(parent, _)| parent),
            created_at: self.created_at,
            changed_at: self.changed_at,
        }
    }
}

impl SessionSaid {
    /// As it is shown.
    pub fn shown(self) -> api::SessionMessage {
        let Self { run, seq, by_agent, sender, trust, text, phase, at, .. } = self;
        let role = if by_agent { api::MessageRole::Agent } else { api::MessageRole::User };
        api::SessionMessage { run, seq, role, sender, trust, text, phase, at }
    }
}

/// A question as it is shown.
pub fn shown_approval(record: ApprovalRecord) -> Result<api::Approval, StorageError> {
    let state = record.state();
    let asker = match record.asker {
        Some(asker) => Some(api::ApprovalAsker {
            run: asker.run,
            call: asker.call,
            session: asker.session,
            agent: asker.agent.parse().map_err(|_| StorageError::InvalidValue {
                what: "an approval names no agent".into(),
            })?,
        }),
        None => None,
    };
    let (decided_by, decided_at, reason) = match record.decision {
        Some(decision) => (decision.by, Some(decision.at), decision.reason),
        None => (None, None, None),
    };
    Ok(api::Approval {
        id: record.id,
        state,
        subject: record.subject,
        summary: record.summary,
        risk: record.risk,
        payload: record.payload,
        payload_sha256: record.payload_sha256,
        asker,
        requested_at: record.requested_at,
        expires_at: record.expires_at,
        decided_by,
        decided_at,
        reason,
    })
}
