//! Lists of conversations and of what was said in them, a page at a time.

use palyra_common::api::{AgentSession, Page, Run, SessionMessage};
use palyra_common::ids::{RunId, SessionId};
use palyra_common::time::Timestamp;

use super::Sessions;
use crate::error::GatewayError;

/// What is said of something that no list gave to go on from.
pub const NO_CURSOR: &str =
    "after: this is no cursor of a list; leave it out to begin at its start";

impl Sessions {
    /// Conversations that were not put away, the newest first; `after` is `next` of the page before.
    pub async fn page(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<AgentSession>, GatewayError> {
        let after = after.map(cursor::<SessionId>).transpose()?;
        let after = after.map(|(at, id)| (Timestamp::from_unix_millis(at), id));
        let found = self.list(after, limit).await?;
        let last = found.last().filter(|_| found.len() >= limit as usize);
        let next = last.map(|last| format!("{}.{}", last.changed_at.as_unix_millis(), last.id));
        Ok(Page { items: found.into_iter().map(|session| session.shown()).collect(), next })
    }

    /// What was said in a conversation, the newest first; `after` is `next` of the page before.
    pub async fn messages_page(
        &self,
        session: SessionId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<SessionMessage>, GatewayError> {
        let after = after.map(cursor::<i64>).transpose()?;
        let said = self.messages(session, after, limit).await?;
        let last = said.last().filter(|_| said.len() >= limit as usize);
        let next = last.map(|last| format!("{}.{}", last.place, last.seq));
        Ok(Page { items: said.into_iter().map(|said| said.shown()).collect(), next })
    }

    /// One run with what is to be told of its end.
    pub async fn show_run(&self, id: RunId) -> Result<Run, GatewayError> {
        let run = self.run(id).await?.shown();
        let (detail, hint) = match self.ending(id).await? {
            Some(finished) => (finished.detail, finished.hint),
            None => (None, None),
        };
        Ok(Run { detail, hint, ..run })
    }
}

/// A place in a list: a number, and what tells those of the same number apart.
fn cursor<T: std::str::FromStr>(text: &str) -> Result<(i64, T), GatewayError> {
    let parts = text.split_once('.');
    let parts = parts.and_then(|(first, rest)| Some((first.parse().ok()?, rest.parse().ok()?)));
    parts.ok_or_else(|| GatewayError::Invalid(NO_CURSOR.to_owned()))
}
