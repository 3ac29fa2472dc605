//! `palyra deployment profiles`

use palyra_common::DeploymentProfile;
use palyra_common::deployment_profiles::ProfileSpec;
use serde_json::json;

use crate::context::Context;
use crate::failure::Outcome;
use crate::table::Table;

/// List the deployment profiles
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  palyra deployment profiles\n  palyra deployment profiles --json"
)]
pub(crate) struct Arguments {}

pub(super) fn run(context: &Context) -> Outcome {
    let specs: Vec<&ProfileSpec> =
        DeploymentProfile::ALL.iter().map(|profile| profile.spec()).collect();
    context.out().show(&json!({ "items": specs }), |out, _| {
        let mut table = Table::new(["PROFILE", "FOR", "STORAGE", "ADDRESSES", "CHECKS"]);
        for spec in specs {
            table.row([
                spec.profile.as_str().into(),
                spec.purpose.into(),
                spec.storage.engine.as_str().into(),
                spec.bind.as_str().into(),
                spec.preflights.len().to_string().into(),
            ]);
        }
        table.render(out)
    })
}
