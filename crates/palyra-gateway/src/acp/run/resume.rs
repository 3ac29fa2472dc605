//! `run.resume` lets a run go on that was paused.

use palyra_common::api::acp::params::RunOf;
use palyra_common::runtime_contracts::Scope;

use super::wish;
use crate::acp::{Call, Command, Refused, Work};
use crate::sessions::Wish;

pub(in crate::acp) fn command() -> Command {
    Command::changes("run.resume", Scope::SessionsWrite, &(), resume).with_version()
}

async fn resume((): (), asked: RunOf, call: Call) -> Result<Work, Refused> {
    wish(Wish::Resume, &asked, call)
}
