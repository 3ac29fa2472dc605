//! `session.load` shows a conversation, and what was said in it, the newest first.

use palyra_common::api::acp::params::{SessionLoad, SessionLoaded};
use palyra_common::runtime_contracts::Scope;

use crate::acp::call::page_limit;
use crate::acp::{Call, Command, Refused};
use crate::sessions::Sessions;

pub(in crate::acp) fn command(sessions: &Sessions) -> Command {
    Command::asks("session.load", Scope::SessionsRead, sessions, load)
}

async fn load(sessions: Sessions, asked: SessionLoad, _: Call) -> Result<SessionLoaded, Refused> {
    let (id, limit) = (asked.session, page_limit(asked.limit)?);
    let session = sessions.get(id).await?.shown();
    let messages = sessions.messages_page(id, asked.after.as_deref(), limit).await?;
    Ok(SessionLoaded { session, messages })
}
