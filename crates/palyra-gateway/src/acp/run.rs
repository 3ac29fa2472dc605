//! Commands about runs.

pub(super) mod abort;
pub(super) mod create;
pub(super) mod get;
pub(super) mod pause;
pub(super) mod resume;

use palyra_common::api::acp::params::RunOf;

use super::{Call, Refused, Work};
use crate::sessions::{Wish, Wished};

/// What somebody wants of a run.
fn wish(wish: Wish, asked: &RunOf, call: Call) -> Result<Work, Refused> {
    let Call { actor, now, expected_version } = call;
    let (run, by) = (asked.run, actor.by.to_string());
    let trail = Some(wish.noted(run, &actor, now));
    let wished = Wished { run, wish, by, trail };
    Ok(Work::new(move |tx| Ok(wished.obey(tx, expected_version, now)?.shown())))
}
