//! `session.rename` names a conversation.

use palyra_common::api::acp::params::SessionRename;
use palyra_common::runtime_contracts::Scope;

use crate::acp::{Call, Command, Refused, Work};
use crate::sessions::{Title, rename};

pub(in crate::acp) fn command() -> Command {
    Command::changes("session.rename", Scope::SessionsWrite, &(), prepare).with_version()
}

async fn prepare((): (), asked: SessionRename, call: Call) -> Result<Work, Refused> {
    let (id, title) = (asked.session, Title::parse(&asked.title)?);
    Ok(Work::new(move |tx| Ok(rename(tx, id, &title, call.expected_version)?.shown())))
}
