//! `session.new` begins a conversation with an agent.

use palyra_common::api::NewSession;
use palyra_common::runtime_contracts::Scope;
use palyra_storage::new_id;

use crate::acp::{Call, Command, Refused, Work};
use crate::agents::default_agent;
use crate::sessions::{Title, begin};

pub(in crate::acp) fn command() -> Command {
    Command::changes("session.new", Scope::SessionsWrite, &(), new)
}

async fn new((): (), asked: NewSession, call: Call) -> Result<Work, Refused> {
    let title = Title::parse(&asked.title)?;
    let agent = match asked.agent {
        Some(agent) => agent,
        None => default_agent()?,
    };
    let surface = asked.surface.unwrap_or_default().as_str();
    let (id, now) = (new_id(), call.now);
    Ok(Work::new(move |tx| Ok(begin(tx, id, &agent, surface, title.as_str(), now)?.shown())))
}
