//! `session.archive` puts a conversation away. What is under way in it goes on.

use palyra_common::api::acp::params::SessionOf;
use palyra_common::runtime_contracts::Scope;

use crate::acp::{Call, Command, Refused, Work};
use crate::sessions::archive;

pub(in crate::acp) fn command() -> Command {
    Command::changes("session.archive", Scope::SessionsWrite, &(), prepare).with_version()
}

async fn prepare((): (), asked: SessionOf, call: Call) -> Result<Work, Refused> {
    let (id, now) = (asked.session, call.now);
    Ok(Work::new(move |tx| Ok(archive(tx, id, call.expected_version, now)?.shown())))
}
