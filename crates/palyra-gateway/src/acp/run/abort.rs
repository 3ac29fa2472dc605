//! `run.abort` stops a run.

use palyra_common::api::acp::params::RunOf;
use palyra_common::runtime_contracts::Scope;

use super::wish;
use crate::acp::{Call, Command, Refused, Work};
use crate::sessions::Wish;

pub(in crate::acp) fn command() -> Command {
    Command::changes("run.abort", Scope::SessionsWrite, &(), abort).with_version()
}

async fn abort((): (), asked: RunOf, call: Call) -> Result<Work, Refused> {
    wish(Wish::Abort, &asked, call)
}
