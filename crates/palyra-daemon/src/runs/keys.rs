//! Keys of providers, out of the vault.

use futures_util::future::BoxFuture;
use palyra_common::Principal;
use palyra_common::runtime_contracts::RetryClass;
use palyra_models::{ApiKey, SecretError, SecretRef, SecretSource};
use palyra_storage::describe;
use palyra_vault::{SecretName, SecretNameError, Use, Vault, VaultError};

/// Asks the vault at each call, which notes it: a key that was changed is used at once, and who used
/// one can be read.
pub(super) struct KeysOfVault(pub(super) Vault);

impl SecretSource for KeysOfVault {
    fn secret<'a>(&'a self, name: &'a SecretRef) -> BoxFuture<'a, Result<ApiKey, SecretError>> {
        Box::pin(async move {
            let secret: SecretName = name.as_str().parse().map_err(misnamed)?;
            let reading = Use {
                by: Principal::system(),
                purpose: "to ask a model".to_owned(),
                origin: "palyrad".to_owned(),
            };
            let value = self.0.get(&secret, &reading).await.map_err(|error| missing(&error))?;
            Ok(ApiKey::from(value.expose().to_owned()))
        })
    }
}

fn misnamed(error: SecretNameError) -> SecretError {
    SecretError { what: error.to_string(), class: RetryClass::Permanent }
}

fn missing(error: &VaultError) -> SecretError {
    let class = match error {
        VaultError::Storage(error) => error.retry_class(),
        // Somebody may be about to unlock it, or to change it.
        VaultError::NoKey(_) | VaultError::KeyAway { .. } | VaultError::Conflict { .. } => {
            RetryClass::TransientNetwork
        }
        _ => RetryClass::Permanent,
    };
    SecretError { what: describe(error), class }
}
