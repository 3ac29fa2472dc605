//! `run.create` says something in a conversation, which a run answers.

use palyra_common::api::Submitted;
use palyra_common::api::acp::params::RunCreate;
use palyra_common::runtime_contracts::{Scope, Trust};
use palyra_common::tape::Input;

use crate::acp::{Call, Command, Refused, Work};
use crate::sessions::{Said, Sessions};

pub(in crate::acp) fn command(sessions: &Sessions) -> Command {
    Command::changes("run.create", Scope::SessionsWrite, sessions, create).with_version()
}

async fn create(sessions: Sessions, asked: RunCreate, call: Call) -> Result<Work, Refused> {
    let Call { actor, now, expected_version } = call;
    let (sender, trust) = (actor.by.to_string(), Trust::Operator);
    let input = Input { text: asked.text, sender, trust, connector: None };
    let said = Said::new(asked.session, input, sessions.free_hand())?;
    Ok(Work::new(move |tx| {
        let submitted = said.say(tx, expected_version, now)?;
        Ok(Submitted { run: submitted.run, session: submitted.session })
    }))
}
