//! Telling the redactor what to look for.

use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::time::Duration;

use palyra_common::ids::Principal;
use palyra_storage::{StorageError, Tx, describe};

use super::{Actor, TOPIC, Vault, not_in_use, unlock};
use crate::VaultError;
use crate::name::SecretName;
use crate::redact::Mark;
use crate::secret::SecretString;
use crate::store::secrets::{self, Locked, Marked};

/// A notice of another node can be missed, so now and then one looks without.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How many versions one entry of the journal names. There are few secrets in most vaults; of many, no
/// entry is large.
const NAMED_AT_ONCE: usize = 200;

/// Keeps what a redactor looks for equal to the vault, whichever node changes it.
#[derive(Debug)]
pub struct RedactionFeed {
    vault: Vault,
}

impl Vault {
    /// The service that keeps [`Vault::redactor`] up to date.
    pub fn feed(&self) -> RedactionFeed {
        RedactionFeed { vault: self.clone() }
    }

    /// Whether the redactor looks for every version that is kept: it is told now what it does not
    /// know, and what it cannot be told is the error, as a key that is away or a version that does
    /// not match its seal. A source of the key that costs something and has just failed is not asked
    /// again for 30 seconds.
    pub async fn knows_all(&self) -> Result<(), VaultError> {
        self.feed().load().await?;
        match self.unknown().await? {
            Some(Marked { name, version, .. }) => Err(VaultError::Damaged { name, version }),
            None => Ok(()),
        }
    }
}

impl RedactionFeed {
    /// Works until `shutdown`. What failed is logged and tried again at the next change, when the key
    /// is there, or after a minute.
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
                () = self.vault.0.key_came.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = &mut shutdown => return,
            }
        }
    }

    /// Loads the values of every kept version that is new. An old version may still be valid where
    /// it is used, so it is not to be seen either.
    pub(super) async fn load(&self) -> Result<(), VaultError> {
        let vault = &self.vault;
        let _alone = vault.0.feeding.lock().await;
        // Before the rows are: what is set in between is not taken for deleted.
        let known = vault.0.redactor.known();
        let stored = vault.0.db.read(secrets::marks).await?;
        let marks: HashSet<_> = stored.iter().map(|version| &version.mark).collect();
        let gone: Vec<_> = known.iter().filter(|mark| !marks.contains(mark)).cloned().collect();
        drop(marks);
        let new: Vec<_> =
            stored.into_iter().filter(|version| !known.contains(&version.mark)).collect();
        if new.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let new = if new.is_empty() { Vec::new() } else { self.values(new).await? };
        let damaged = new.iter().filter(|(_, _, value)| value.is_none());
        vault.0.damage.change(damaged.map(|(mark, ..)| mark.clone()).collect(), &gone);
        let redactor = vault.0.redactor.clone();
        let changing = tokio::task::spawn_blocking(move || redactor.change(new, gone));
        changing.await.map_err(|_| StorageError::ShuttingDown.into())
    }

    /// The values of these versions, which the journal names before they are opened.
    async fn values(
        &self,
        versions: Vec<Marked>,
    ) -> Result<Vec<(Mark, SecretName, Option<SecretString>)>, VaultError> {
        let vault = &self.vault;
        if vault.held().is_none() {
            vault.check().await?;
        }
        let key = vault.load().await?;
        let read = move |tx: &mut Tx<'_>| {
            let row = |version: &Marked| secrets::one(tx, &version.name, version.version);
            versions.iter().map(row).collect::<Result<Vec<_>, _>>()
        };
        let rows: Vec<_> = vault.0.db.read(read).await?.into_iter().flatten().collect();
        if rows.iter().any(|row| row.key_id != key.id) {
            // Changed in between; the notice of that is on its way.
            return Err(not_in_use(&key.id));
        }
        self.record(&rows).await?;
        let open = |row: Locked| {
            let value = unlock(&key, &row);
            // One damaged secret keeps no other from being redacted.
            let told = |error: &VaultError| {
                let code = error.code();
                tracing::warn!(%code, error = %describe(error), "cannot be redacted");
            };
            (row.wrapped_key, row.name, value.inspect_err(told).ok())
        };
        Ok(rows.into_iter().map(open).collect())
    }

    async fn record(&self, rows: &[Locked]) -> Result<(), VaultError> {
        let by = Actor { by: Principal::system(), credential: None, origin: "palyra-vault".into() };
        let entries = rows.chunks(NAMED_AT_ONCE).map(|rows| {
            let entry = self.vault.entry("secret.read", "secret:*".into(), &by);
            (entry, serde_json::json!({ "purpose": "redaction", "secrets": named(rows) }))
        });
        let entries: Vec<_> = entries.collect();
        let record = move |tx: &mut Tx<'_>| {
            entries.iter().for_each(|(entry, detail)| entry.record(tx, "ok", detail.clone()));
            Ok(())
        };
        Ok(self.vault.0.db.write(record).await?)
    }
}

/// Versions by the names of their secrets.
fn named(rows: &[Locked]) -> BTreeMap<String, Vec<i64>> {
    let mut named: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for row in rows {
        named.entry(row.name.to_string()).or_default().push(row.version);
    }
    named.values_mut().for_each(|versions| versions.sort_unstable());
    named
}
