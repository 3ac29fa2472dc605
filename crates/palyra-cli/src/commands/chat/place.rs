//! The conversation to go on with.

use palyra_client::{Client, ClientError};
use palyra_common::api::{AgentSession, NewSession, SessionSurface};
use palyra_common::error::ErrorCode;
use palyra_common::ids::{AgentId, SessionId};

use crate::failure::Failure;

/// As many as the daemon gives at once.
const PAGE: u32 = 200;
/// A conversation of the command line that is not among so many pages is not gone on with.
const PAGES: usize = 5;

/// Which conversation is wanted.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Place {
    /// Go on in this session
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["new", "agent"])]
    session: Option<SessionId>,
    /// Talk to this agent: in the last session with it, or a new one
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentId>,
    /// Begin a new session
    #[arg(long)]
    new: bool,
}

/// A conversation, and whether it was there before.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) session: AgentSession,
    pub(super) is_new: bool,
}

impl Place {
    /// Finds it, or begins it.
    pub(super) async fn find(&self, client: &Client) -> Result<Found, Failure> {
        if let Some(id) = self.session {
            let session = client.session(id).await?;
            if session.archived_at.is_some() {
                return Err(Failure::conflict(format!(
                    "the session {id} was put away; begin another one with `palyra chat --new`"
                )));
            }
            return Ok(Found { session, is_new: false });
        }
        let last = if self.new { None } else { last(client, self.agent.as_ref()).await? };
        if let Some(session) = last {
            return Ok(Found { session, is_new: false });
        }
        self.begin(client).await
    }

    /// Begins another conversation with the same agent.
    pub(super) async fn begin(&self, client: &Client) -> Result<Found, Failure> {
        let (agent, surface) = (self.agent.clone(), Some(SessionSurface::Cli));
        let new = NewSession { agent, surface, title: String::new() };
        Ok(Found { session: client.begin_session(&new).await?, is_new: true })
    }
}

/// The conversation of the command line in which something was said last.
async fn last(
    client: &Client,
    agent: Option<&AgentId>,
) -> Result<Option<AgentSession>, ClientError> {
    let mut after = None;
    for _ in 0..PAGES {
        let page = client.sessions(after, PAGE).await?;
        let fits = |session: &AgentSession| {
            session.surface == "cli" && agent.is_none_or(|agent| *agent == session.agent)
        };
        for found in page.items.into_iter().filter(fits) {
            // Nobody answers any more in a conversation with an agent that was removed.
            match client.agent(&found.agent).await {
                Err(error) if is_gone(&error) && agent.is_none() => {}
                Err(error) => return Err(error),
                Ok(_) => return Ok(Some(found)),
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(None)
}

fn is_gone(error: &ClientError) -> bool {
    let not_found = ErrorCode::CommonNotFound.as_str();
    matches!(error, ClientError::Refused(envelope) if envelope.code() == not_found)
}
