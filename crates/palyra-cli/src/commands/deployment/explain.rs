//! `palyra deployment explain`

use palyra_common::DeploymentProfile;
use palyra_common::deployment_profiles::ProfileSpec;
use palyra_common::runtime_contracts::ContractDescriptor;

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::Output;
use crate::table::Table;

/// Explain what a deployment profile sets and demands
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra deployment explain single-vm
  palyra deployment explain worker-enabled --json"
)]
pub(crate) struct Arguments {
    /// local, single-vm or worker-enabled
    profile: DeploymentProfile,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Outcome {
    context.out().show(arguments.profile.spec(), text)
}

fn text(out: &Output, spec: &ProfileSpec) -> String {
    use palyra_common::deployment_profiles as words;
    let mut table = Table::of_fields();
    let mut say = |name: &str, contract: &ContractDescriptor, values: &[&str]| {
        for (index, value) in values.iter().enumerate() {
            let doc = contract.values.iter().find(|known| known.wire == *value);
            let doc = doc.map_or("", |known| known.doc);
            table.field(if index == 0 { name } else { "" }, format!("{value}: {doc}"));
        }
    };
    say("addresses", words::BindPolicy::CONTRACT, &[spec.bind.as_str()]);
    say("storage", words::StorageEngine::CONTRACT, &[spec.storage.engine.as_str()]);
    let blobs: Vec<_> = spec.storage.blobs.iter().map(|place| place.as_str()).collect();
    say("blobs", words::BlobPlace::CONTRACT, &blobs);
    say("backups", words::BackupStance::CONTRACT, &[spec.storage.backups.as_str()]);
    say("workers", words::WorkerTopology::CONTRACT, &[spec.workers.as_str()]);
    let auth: Vec<_> = spec.auth.iter().map(|needed| needed.as_str()).collect();
    say("callers", words::AuthRequirement::CONTRACT, &auth);
    // Nothing is said of the sandbox: there is no tool yet that runs in one.
    let checks: Vec<_> = spec.preflights.iter().map(|check| check.as_str()).collect();
    say("checks", words::PreflightCheck::CONTRACT, &checks);
    let recipes: Vec<_> = spec.recipes.iter().map(|recipe| recipe.as_str()).collect();
    say("recipes", words::DeploymentRecipe::CONTRACT, &recipes);
    format!("{} is for {}.\n{}", spec.profile, spec.purpose, table.render(out))
}
