//! `session.list` shows conversations that were not put away, the newest first.

use palyra_common::api::acp::params::SessionsAfter;
use palyra_common::api::{AgentSession, Page};
use palyra_common::runtime_contracts::Scope;

use crate::acp::call::page_limit;
use crate::acp::{Call, Command, Refused};
use crate::sessions::Sessions;

pub(in crate::acp) fn command(sessions: &Sessions) -> Command {
    Command::asks("session.list", Scope::SessionsRead, sessions, list)
}

async fn list(
    sessions: Sessions,
    asked: SessionsAfter,
    _: Call,
) -> Result<Page<AgentSession>, Refused> {
    Ok(sessions.page(asked.after.as_deref(), page_limit(asked.limit)?).await?)
}
