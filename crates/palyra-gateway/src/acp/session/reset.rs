//! `session.reset` lets a conversation go on without what was said in it: that stays to be read, and is
//! shown to no model any more.

use palyra_common::api::acp::params::SessionOf;
use palyra_common::runtime_contracts::Scope;
use serde_json::Value;

use crate::acp::{Call, Command, Refused, Work};
use crate::sessions::reset;

pub(in crate::acp) fn command() -> Command {
    Command::changes("session.reset", Scope::SessionsWrite, &(), prepare).with_version()
}

async fn prepare((): (), asked: SessionOf, call: Call) -> Result<Work, Refused> {
    let Call { actor, now, expected_version } = call;
    let id = asked.session;
    let note = actor.noted(now, "session.reset", format!("session:{id}"), Value::Null);
    Ok(Work::new(move |tx| {
        let session = reset(tx, id, expected_version, now)?;
        tx.record(note.clone());
        Ok(session.shown())
    }))
}
