//! `session.fork` begins a conversation with the history of another one.

use palyra_common::api::acp::params::SessionFork;
use palyra_common::runtime_contracts::Scope;
use palyra_storage::new_id;

use crate::acp::{Call, Command, Refused, Work};
use crate::sessions::{Forked, Title};

pub(in crate::acp) fn command() -> Command {
    Command::changes("session.fork", Scope::SessionsWrite, &(), fork).with_version()
}

async fn fork((): (), asked: SessionFork, call: Call) -> Result<Work, Refused> {
    let forked = Forked {
        id: new_id(),
        from: asked.session,
        through: asked.through,
        title: asked.title.as_deref().map(Title::parse).transpose()?,
        surface: asked.surface.unwrap_or_default().as_str(),
    };
    let (expected, now) = (call.expected_version, call.now);
    Ok(Work::new(move |tx| Ok(forked.begin(tx, expected, now)?.shown())))
}
