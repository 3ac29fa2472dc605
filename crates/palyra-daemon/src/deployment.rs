//! What a deployment profile demands of the other options. Only a start asks: whoever writes a
//! configuration sets one option after the other, and some are in the environment.

use palyra_common::deployment_profiles::StorageEngine;

use crate::config::Config;
use crate::failure::Failure;

/// Refuses a profile whose nodes would not share what they have to.
pub(crate) fn check(config: &Config) -> Result<(), Failure> {
    let (profile, storage) = (config.deployment.profile, &config.storage);
    let lacking = match profile.spec().storage.engine {
        StorageEngine::Sqlite => return Ok(()),
        StorageEngine::Postgres if storage.url.is_empty() => {
            "storage.url is empty, so this would be SQLite"
        }
        StorageEngine::Postgres if storage.blobs.is_empty() => {
            "storage.blobs is empty, so blobs would be in the data directory of this node"
        }
        StorageEngine::Postgres => return Ok(()),
    };
    let what = format!(
        "deployment.profile is {profile}, whose nodes share a Postgres (storage.url) and the place of \
         their blobs (storage.blobs), and {lacking}; set both, or the profile to local or single-vm"
    );
    Err(Failure::Option { what })
}
