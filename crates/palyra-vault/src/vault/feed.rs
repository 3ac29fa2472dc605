//! Telling the redactor what to look for.

use std::future::Future;
use std::time::Duration;

use palyra_common::ids::Principal;
use palyra_storage::{Tx, describe};

use super::{Actor, TOPIC, Vault, not_in_use, unlock};
use crate::VaultError;
use crate::store::secrets;

/// A notice of another node can be missed, so now and then one looks without.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Keeps a redactor's table equal to the vault, whichever node changes it.
#[derive(Debug)]
pub struct RedactionFeed {
    vault: Vault,
}

impl Vault {
    /// The service that keeps [`Vault::redactor`] up to date.
    pub fn feed(&self) -> RedactionFeed {
        RedactionFeed { vault: self.clone() }
    }
}

impl RedactionFeed {
    /// Works until `shutdown`. What failed is logged and tried again at the next change, or after a
    /// minute.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let mut changes = self.vault.0.db.subscribe(TOPIC);
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                loaded = self.load() => if let Err(error) = loaded {
                    let code = error.code();
                    let error = describe(&error);
                    tracing::warn!(%code, error, "new secrets are not redacted yet");
                },
                () = &mut shutdown => return,
            }
            tokio::select! {
                () = changes.changed() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = &mut shutdown => return,
            }
        }
    }

    /// Loads the values of every kept version, if anything has changed. An old version may still be
    /// valid where it is used, so it is not to be seen either. One entry in the journal stands for
    /// this read of all.
    pub(super) async fn load(&self) -> Result<(), VaultError> {
        let vault = &self.vault;
        let known = vault.0.db.read(secrets::list).await?;
        let mut loaded = vault.0.redacted.lock().await;
        if loaded.as_ref() == Some(&known) {
            return Ok(());
        }
        let mut values = Vec::new();
        if !known.is_empty() {
            let key = vault.load().await?;
            let by = Actor { by: Principal::system(), origin: "palyra-vault".into() };
            let entry = vault.entry("secret.read", "secret:*".into(), &by);
            let read = move |tx: &mut Tx<'_>| {
                let rows = secrets::all(tx)?;
                let versions = rows.len();
                let detail = serde_json::json!({ "purpose": "redaction", "versions": versions });
                entry.record(tx, "ok", detail);
                Ok(rows)
            };
            for row in vault.0.db.write(read).await? {
                if row.key_id != key.id {
                    // Changed in between; the notice of that is on its way.
                    return Err(not_in_use(&key.id));
                }
                match unlock(&key, &row) {
                    Ok(value) => values.push((row.name, value)),
                    // One damaged secret keeps no other from being redacted.
                    Err(error) => tracing::warn!(error = %describe(&error), "cannot be redacted"),
                }
            }
        }
        vault.0.redactor.replace(values);
        *loaded = Some(known);
        Ok(())
    }
}
