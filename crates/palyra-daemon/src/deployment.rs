//! What a deployment profile demands of the other options.

use palyra_common::api::ConfigChange;
use palyra_common::deployment_profiles::StorageEngine;

use crate::config::Config;
use crate::failure::Failure;

/// Refuses a profile whose nodes would not share what they have to.
pub(crate) fn check(config: &Config) -> Result<(), Failure> {
    let (profile, storage) = (config.deployment.profile, &config.storage);
    let workspaces = config.agents.workspaces_folder();
    let lacking = match profile.spec().storage.engine {
        StorageEngine::Sqlite => return Ok(()),
        StorageEngine::Postgres if storage.url.is_empty() => {
            "storage.url is empty, so this would be SQLite"
        }
        StorageEngine::Postgres if storage.blobs.is_empty() => {
            "storage.blobs is empty, so blobs would be in the data directory of this node"
        }
        StorageEngine::Postgres if workspaces.is_none() => {
            "agents.workspaces is empty, so files of agents would be in the data directory of this node"
        }
        StorageEngine::Postgres => return Ok(()),
    };
    let what = format!(
        "deployment.profile is {profile}, whose nodes share a Postgres (storage.url), the place of their \
         blobs (storage.blobs) and the files of agents (agents.workspaces), and {lacking}; set all of \
         them first, or the profile to local or single-vm"
    );
    Err(Failure::Option { what })
}

/// Refuses a change after which a start would be refused. Where it would be anyway, the other
/// options are set one after the other.
pub(crate) fn check_change(
    change: &ConfigChange,
    before: Option<&Config>,
    after: &Config,
) -> Result<(), Failure> {
    let could_start = before.is_some_and(|before| check(before).is_ok());
    let is_chosen = change.set.contains_key("deployment.profile");
    if could_start || is_chosen { check(after) } else { Ok(()) }
}
