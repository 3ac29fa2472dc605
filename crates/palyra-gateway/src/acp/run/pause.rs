//! `run.pause` lets a run wait until it is resumed.

use palyra_common::api::acp::params::RunOf;
use palyra_common::runtime_contracts::Scope;

use super::wish;
use crate::acp::{Call, Command, Refused, Work};
use crate::sessions::Wish;

pub(in crate::acp) fn command() -> Command {
    Command::changes("run.pause", Scope::SessionsWrite, &(), pause).with_version()
}

async fn pause((): (), asked: RunOf, call: Call) -> Result<Work, Refused> {
    wish(Wish::Pause, &asked, call)
}
