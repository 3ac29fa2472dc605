//! A database with a vault, and ways to look behind it.

use std::path::PathBuf;
use std::sync::Arc;

use palyra_common::time::{Duration, Timestamp};
use palyra_storage::journal::Recorded;
use palyra_storage::{Database, JournalStore, OpenOptions, Sql, params, sql};
use palyra_testkit::clock::FakeClock;
pub(crate) use palyra_testkit::on_every_engine;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};
use palyra_vault::{
    Actor, KeySource, PAGE_LIMIT, Redactor, SecretInfo, SecretName, SecretString, Use, Vault,
    VaultConfig, VaultError,
};

/// The start of fake time.
pub(crate) const START: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);

pub(crate) struct World {
    pub(crate) db: Database,
    pub(crate) vault: Vault,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) options: OpenOptions,
    pub(crate) config: VaultConfig,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) postgres: Option<TestDatabase>,
}

impl World {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions::in_directory(folder.path().join("data"));
        Self::open(folder, options, None).await
    }

    pub(crate) async fn postgres() -> Self {
        let locale = DatabaseLocale::Icu;
        let database = PostgresServer::shared().unwrap().create_database(locale).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::in_directory(folder.path().join("data"));
        options.config.url = database.url().into();
        options.config.connections = 4;
        // Machines are slow, and no story is about running out of patience.
        options.config.retry_for = Duration::from_mins(2);
        Self::open(folder, options, Some(database)).await
    }

    async fn open(
        folder: tempfile::TempDir,
        options: OpenOptions,
        postgres: Option<TestDatabase>,
    ) -> Self {
        let db = Database::open(options.clone()).await.unwrap();
        let clock = Arc::new(FakeClock::new(START));
        let config = VaultConfig {
            key_source: KeySource::File,
            key_file: folder.path().join("config/vault.key"),
            ..VaultConfig::default()
        };
        let data_dir = &options.data_dir;
        let vault =
            Vault::open(db.clone(), clock.clone(), &config, data_dir, Redactor::new()).await;
        Self { db, vault: vault.unwrap(), clock, options, config, folder, postgres }
    }

    /// Another vault on the same database, as after a restart or on another node.
    pub(crate) async fn vault_with(&self, config: &VaultConfig) -> Vault {
        self.vault_on(&self.db, config).await
    }

    pub(crate) async fn vault_on(&self, db: &Database, config: &VaultConfig) -> Vault {
        let (clock, data_dir) = (self.clock.clone(), &self.options.data_dir);
        Vault::open(db.clone(), clock, config, data_dir, Redactor::new()).await.unwrap()
    }

    /// As after a restart.
    pub(crate) async fn reopened(&self) -> Vault {
        self.vault_with(&self.config).await
    }

    pub(crate) fn key_file(&self) -> PathBuf {
        self.config.key_file.clone()
    }

    pub(crate) async fn set(&self, name: &str, value: &str) -> i64 {
        set(&self.vault, name, value).await.unwrap()
    }

    /// All secrets.
    pub(crate) async fn list(&self) -> Vec<SecretInfo> {
        self.vault.list(None, PAGE_LIMIT).await.unwrap().secrets
    }

    /// The journal of the vault: action, subject, outcome.
    pub(crate) async fn journal(&self) -> Vec<Recorded> {
        JournalStore::new(self.db.clone()).page_after(0, 1_000).await.unwrap()
    }

    pub(crate) async fn told(&self, action: &str) -> Vec<String> {
        let journal = self.journal().await;
        let of_action = journal.iter().filter(|entry| entry.event.action == action);
        of_action
            .map(|entry| {
                let event = &entry.event;
                format!("{} {} {} {}", event.actor, event.subject, event.outcome, event.detail)
            })
            .collect()
    }

    pub(crate) async fn execute(&self, sql: &'static Sql) -> u64 {
        self.db.write(|tx| tx.execute(sql, params![])).await.unwrap()
    }

    /// All rows of secrets and keys, as text.
    pub(crate) async fn rows(&self) -> Vec<String> {
        const SECRETS: Sql = sql!(
            "SELECT scope, name, version, key_id, wrapped_key, ciphertext FROM secrets
             ORDER BY scope, name, version"
        );
        const KEYS: Sql = sql!("SELECT id, source, in_use FROM vault_keys ORDER BY id");
        let read = |tx: &mut palyra_storage::Tx<'_>| {
            let mut rows = tx.query(&SECRETS, params![], |row| {
                let text: (String, String, i64, String) =
                    (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                let bytes: (Vec<u8>, Vec<u8>) = (row.get(4)?, row.get(5)?);
                Ok(format!("{text:?} {bytes:?}"))
            })?;
            rows.extend(tx.query(&KEYS, params![], |row| {
                let (id, source, in_use): (String, String, Option<i64>) =
                    (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(format!("{id} {source} {in_use:?}"))
            })?);
            Ok(rows)
        };
        self.db.read(read).await.unwrap()
    }
}

pub(crate) fn name(text: &str) -> SecretName {
    text.parse().unwrap()
}

pub(crate) fn anna() -> Actor {
    Actor { by: "operator:anna".parse().unwrap(), credential: None, origin: "test".into() }
}

pub(crate) fn reading(purpose: &str) -> Use {
    Use { by: "agent:helper".parse().unwrap(), purpose: purpose.into(), origin: "test".into() }
}

pub(crate) async fn set(vault: &Vault, secret: &str, value: &str) -> Result<i64, VaultError> {
    vault.set(&name(secret), SecretString::from(value), &anna()).await
}

pub(crate) async fn get(vault: &Vault, secret: &str) -> Result<String, VaultError> {
    let value = vault.get(&name(secret), &reading("a test")).await?;
    Ok(value.expose().to_owned())
}
