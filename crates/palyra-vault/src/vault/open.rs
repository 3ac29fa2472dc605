//! Opening a vault.

use std::path::Path;
use std::sync::{Arc, RwLock};

use palyra_common::time::Clock;
use palyra_storage::{Database, describe};

use super::damage::Damage;
use super::recent::Recent;
use super::stand_in::Noted;
use super::{Inner, Vault};
use crate::VaultError;
use crate::config::VaultConfig;
use crate::redact::Redactor;
use crate::source::Source;

impl Vault {
    /// The vault of a database. `data_dir` tells key files of several installations apart;
    /// `redactor` is told the vault's values, now and by [`Vault::feed`].
    ///
    /// Fails only for configuration that cannot work. Without the key, or with a wrong one, the
    /// vault is open, says so in the log, and each operation that needs the key says so again.
    pub async fn open(
        db: Database,
        clock: Arc<dyn Clock>,
        config: &VaultConfig,
        data_dir: &Path,
        redactor: Redactor,
    ) -> Result<Self, VaultError> {
        let vault = Self::unread(db, clock, config, data_dir, redactor)?;
        if let Err(error) = vault.feed().load().await {
            let code = error.code();
            tracing::warn!(%code, error = %describe(&error), "secrets cannot be read");
        }
        Ok(vault)
    }

    /// The same, without looking at its secrets: to ask about the key.
    pub fn unread(
        db: Database,
        clock: Arc<dyn Clock>,
        config: &VaultConfig,
        data_dir: &Path,
        redactor: Redactor,
    ) -> Result<Self, VaultError> {
        config.check()?;
        let inner = Inner {
            db,
            clock,
            source: Source::of(config, data_dir),
            held: RwLock::new(None),
            loading: Arc::default(),
            recent: Recent::default(),
            noted: Noted::default(),
            redactor,
            damage: Damage::default(),
            feeding: tokio::sync::Mutex::new(()),
            key_came: tokio::sync::Notify::new(),
        };
        Ok(Self(Arc::new(inner)))
    }
}
