//! A database with a connector on it, and a router that mirrors.

use std::sync::Arc;

use palyra_common::ids::ConnectorId;
use palyra_common::queue::QueueSettings;
use palyra_common::time::{Duration, Timestamp};
use palyra_connector_core::conformance::AsItIs;
use palyra_connector_core::{
    AuthorKind, Connectors, Content, Inbound, InboundEvent, Outbox, SystemDice,
};
use palyra_gateway::{ChannelRouter, OntoTapes, Preview, Rules};
use palyra_storage::{Database, EngineKind, OpenOptions};
use palyra_testkit::clock::FakeClock;
pub(crate) use palyra_testkit::on_every_engine;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};

use crate::mirror::Mirror;

pub(crate) const START: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);

pub(crate) struct World {
    pub(crate) connectors: Connectors,
    pub(crate) rules: Rules,
    pub(crate) inbound: Inbound,
    pub(crate) outbox: Outbox,
    pub(crate) preview: Preview,
    pub(crate) db: Database,
    options: OpenOptions,
    pub(crate) folder: tempfile::TempDir,
    _postgres: Option<TestDatabase>,
}

pub(crate) fn connector() -> ConnectorId {
    "echo:default".parse().unwrap()
}

impl World {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions::in_directory(folder.path());
        Self::open(folder, options, None).await
    }

    pub(crate) async fn postgres() -> Self {
        let server = PostgresServer::shared().unwrap();
        let database = server.create_database(DatabaseLocale::Icu).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::in_directory(folder.path());
        options.config.url = database.url().into();
        options.config.connections = 2;
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
        let connectors = Connectors::new(db.clone(), clock.clone());
        let (queue, dice) = (QueueSettings::default(), Arc::new(SystemDice));
        connectors.add(connector(), "echo", serde_json::json!({}), queue, None).await.unwrap();
        let router = Arc::new(ChannelRouter::new(Arc::new(Mirror)));
        Self {
            rules: Rules::new(db.clone(), clock.clone()),
            inbound: Inbound::new(
                db.clone(),
                clock.clone(),
                dice.clone(),
                router,
                Arc::new(AsItIs),
            ),
            outbox: Outbox::new(db.clone(), clock, dice, Arc::new(OntoTapes)),
            preview: Preview::new(db.clone()),
            connectors,
            db,
            options,
            folder,
            _postgres: postgres,
        }
    }
}

impl World {
    /// The same with its next process.
    pub(crate) async fn restarted(self) -> Self {
        let db = self.next_process().await;
        Self { db, ..self }
    }

    /// What the next process sees: on SQLite after this one is gone, on Postgres beside it.
    pub(crate) async fn next_process(&self) -> Database {
        match self.db.engine() {
            EngineKind::Sqlite => self.db.close().await,
            EngineKind::Postgres => {}
        }
        Database::open(self.options.clone()).await.unwrap()
    }
}

/// A direct message of `ann`.
pub(crate) fn message(id: &str, text: &str) -> InboundEvent {
    InboundEvent {
        connector: connector(),
        message: id.parse().unwrap(),
        conversation: "dm-ann".parse().unwrap(),
        thread: None,
        sender: "ann".into(),
        occurred_at: START,
        content: Content {
            text: text.into(),
            direct: true,
            author: AuthorKind::Person,
            mentions_bot: false,
            addresses_all: false,
            attachments: 0,
        },
        cursor: None,
    }
}
