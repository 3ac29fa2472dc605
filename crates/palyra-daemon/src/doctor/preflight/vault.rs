//! Where the master key is, told without the database: that may be damaged, and whoever brings the
//! secrets of a backup back needs the key of then.

use std::path::Path;

use palyra_common::StableErrorEnvelope;
use palyra_common::api::{Check, CheckState};
use palyra_storage::{DATABASE_FILE, describe};
use palyra_vault::{KeyPlace, KeySeen, VaultError};

use crate::config::Config;
use crate::doctor::{advised, check};

const NAME: &str = "vault";

pub(super) fn key(config: &Config, data_dir: &Path) -> Check {
    let KeyPlace { source, seen } = match KeyPlace::look(&config.vault, data_dir) {
        Ok(place) => place,
        Err(error) => return failed(&error.envelope()),
    };
    match seen {
        KeySeen::There => {
            let what = "whether it is the key of the secrets is known when the daemon runs";
            check(NAME, CheckState::Ok, format!("{source} is there; {what}"))
        }
        KeySeen::NotMade if !has_database(config, data_dir) => {
            check(NAME, CheckState::Ok, format!("{source} is made with the first secret"))
        }
        KeySeen::NotMade => {
            let seen = format!(
                "{source} is not there: that is right if there was never a secret, and else the key \
                 is lost or elsewhere"
            );
            let advice = "If there are secrets, bring it back, with mode 0600. Once the daemon runs, \
                          `palyra doctor` names the key that they need; keys of before are beside \
                          the key file, named by their id.";
            advised(check(NAME, CheckState::Warning, seen), advice)
        }
        KeySeen::NotGiven => {
            let seen = format!("{source} is not given");
            let advice = "Secrets can be used once it is. A service has an environment of its own.";
            advised(check(NAME, CheckState::Warning, seen), advice)
        }
        KeySeen::NotAsked => {
            let seen = format!("the master key comes from {source}, which only the daemon asks");
            check(NAME, CheckState::Skipped, seen)
        }
        KeySeen::Unusable(problem) => {
            let what = format!("{source} cannot be used: {}", describe(&problem));
            let code = VaultError::NoKey(problem).code();
            failed(&StableErrorEnvelope::new(code, what))
        }
    }
}

/// Whether there may be secrets.
fn has_database(config: &Config, data_dir: &Path) -> bool {
    !config.storage.url.is_empty() || data_dir.join(DATABASE_FILE).exists()
}

fn failed(envelope: &StableErrorEnvelope) -> Check {
    advised(check(NAME, CheckState::Failed, envelope.to_string()), envelope.recovery_hint())
}
