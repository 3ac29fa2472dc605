//! `run.get` shows a run.

use palyra_common::api::Run;
use palyra_common::api::acp::params::RunOf;
use palyra_common::runtime_contracts::Scope;

use crate::acp::{Call, Command, Refused};
use crate::sessions::Sessions;

pub(in crate::acp) fn command(sessions: &Sessions) -> Command {
    Command::asks("run.get", Scope::SessionsRead, sessions, get)
}

async fn get(sessions: Sessions, asked: RunOf, _: Call) -> Result<Run, Refused> {
    Ok(sessions.show_run(asked.run).await?)
}
