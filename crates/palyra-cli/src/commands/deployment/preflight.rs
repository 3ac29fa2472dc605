//! `palyra deployment preflight`

use palyra_common::api::Doctor;

use crate::commands::doctor::report;
use crate::context::Context;
use crate::failure::Outcome;
use crate::palyrad;

/// Make the checks of the configured profile, without a daemon
///
/// Exits with 7 when one fails.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra deployment preflight
  palyra --data-dir /srv/palyra deployment preflight --json"
)]
pub(crate) struct Arguments {}

pub(super) fn run(context: &Context) -> Outcome {
    context.own_data_dir("deployment preflight")?;
    let found: Doctor = palyrad::ask(context, &["preflight".as_ref(), "--json".as_ref()])?;
    context.out().show(&found, |out, found| report::text(out, &found.checks))?;
    report::outcome(&found.checks)
}
