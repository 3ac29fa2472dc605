//! A database with a connector on it, time that is moved by hand, and the usual steps.

use std::sync::{Arc, Mutex};

use palyra_common::ids::{ConnectorId, ConversationId, EnvelopeId};
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::{Duration, Timestamp};
use palyra_connector_core::{
    Attempt, Begun, ChannelError, CleanText, Connector, Connectors, Deliveries, Delivery, Dice,
    Due, Enqueued, EntryKey, Envelope, Operation, Outbox, Outgoing, Release, Report, Settled,
    Stored,
};
use palyra_policy::backoff::Chance;
use palyra_policy::outbox::Repeat;
use palyra_storage::lease::{Lease, LeaseName, Leases};
use palyra_storage::{Database, OpenOptions, StorageError, Tx};
use palyra_testkit::clock::FakeClock;
pub(crate) use palyra_testkit::on_every_engine;
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, TestDatabase};

/// The start of fake time.
pub(crate) const START: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);

/// Always as long as can be.
struct Longest;

impl Dice for Longest {
    fn roll(&self) -> Chance {
        Chance(u64::MAX)
    }
}

pub(crate) struct World {
    pub(crate) db: Database,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) connectors: Connectors,
    pub(crate) outbox: Outbox,
    pub(crate) record: Arc<Record>,
    pub(crate) lease: Lease,
    pub(crate) repeat: Repeat,
    pub(crate) started_with: Arc<Connector>,
    options: OpenOptions,
    _folder: tempfile::TempDir,
    postgres: Option<TestDatabase>,
}

pub(crate) fn connector() -> ConnectorId {
    "echo:default".parse().unwrap()
}

pub(crate) fn key(envelope: &str, part: u32) -> EntryKey {
    EntryKey { connector: connector(), envelope: envelope.parse().unwrap(), part }
}

pub(crate) fn failed() -> Report {
    let class = palyra_common::runtime_contracts::RetryClass::TransientNetwork;
    Report::Retry { class, after: None, reason: "no route".into() }
}

pub(crate) fn delivered() -> Report {
    Report::Delivered { native: None }
}

pub(crate) fn unclear() -> Report {
    Report::Unknown { reason: "no answer".into() }
}

pub(crate) fn rejected() -> Report {
    Report::Rejected { reason: "no such channel".into() }
}

impl World {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions::in_directory(folder.path());
        Self::open(folder, options, None).await
    }

    pub(crate) async fn postgres() -> Self {
        let server = PostgresServer::shared().unwrap();
        // The locale that shows where a comparison is left to the database's own rules.
        let database = server.create_database(DatabaseLocale::Icu).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::in_directory(folder.path());
        options.config.url = database.url().into();
        options.config.connections = 4;
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
        let queue = QueueSettings { max_attempts: 3, max_looks: 1, ..QueueSettings::default() };
        let settings = serde_json::json!({});
        assert!(connectors.add(connector(), "echo", settings, queue, None).await.unwrap());
        let (dice, record) = (Arc::new(Longest), Arc::new(Record::default()));
        let outbox = Outbox::new(db.clone(), clock.clone(), dice, record.clone());
        let lease = Self::take_lease(&db, &clock).await;
        let repeat = Repeat::Never;
        let started_with = Arc::new(connectors.get(&connector()).await.unwrap());
        let world = Self {
            db,
            clock,
            connectors,
            outbox,
            record,
            lease,
            repeat,
            started_with,
            options,
            _folder: folder,
            postgres,
        };
        assert_eq!(world.outbox.next_due(&connector()).await.unwrap(), None);
        world
    }

    async fn take_lease(db: &Database, clock: &Arc<FakeClock>) -> Lease {
        let leases = Leases::new(db.clone(), clock.clone(), Duration::from_mins(10));
        leases.try_take(&LeaseName::new("connector:echo:default")).await.unwrap().unwrap()
    }

    /// Where two nodes can share a database: another one on it.
    pub(crate) async fn second_node(&self) -> Option<Database> {
        self.postgres.as_ref()?;
        Some(Database::open(self.options.clone()).await.unwrap())
    }

    /// What a restart leaves: the rows.
    pub(crate) async fn restart(&mut self) {
        self.db.close().await;
        self.db = Database::open(self.options.clone()).await.unwrap();
    }

    /// The lease is given back and taken by another: the old holder's token is stale.
    pub(crate) async fn lose_lease(&mut self) -> Lease {
        let leases = Leases::new(self.db.clone(), self.clock.clone(), Duration::from_mins(10));
        let old = self.lease.clone();
        leases.release(old.clone()).await.unwrap();
        self.lease = leases.try_take(old.name()).await.unwrap().unwrap();
        old
    }

    pub(crate) fn pass(&self, length: Duration) {
        self.clock.advance(length);
    }

    pub(crate) fn envelope(id: &str, conversation: &str, texts: &[&str]) -> Envelope {
        Envelope {
            connector: connector(),
            id: id.parse::<EnvelopeId>().unwrap(),
            conversation: conversation.parse::<ConversationId>().unwrap(),
            parts: texts.iter().map(|text| said(text)).collect(),
            release: Release::AtOnce,
        }
    }

    pub(crate) async fn enqueue(&self, id: &str, conversation: &str) -> Enqueued {
        self.outbox.enqueue(Self::envelope(id, conversation, &[id])).await.unwrap()
    }

    pub(crate) async fn due(&self) -> Vec<Due> {
        self.outbox.due(&connector(), 100).await.unwrap()
    }

    pub(crate) async fn begin(&self, attempts: Vec<Attempt>) -> Result<Vec<Begun>, ChannelError> {
        self.outbox.begin(&self.started_with, &self.lease, self.repeat, attempts).await
    }

    /// Begins whatever is due.
    pub(crate) async fn begin_due(&self) -> Vec<Begun> {
        let due = self.due().await.into_iter().filter_map(|due| match due {
            Due::Send(stored) => Some(Attempt::Begin(stored)),
            Due::Look(_) => None,
        });
        self.begin(due.collect()).await.unwrap()
    }

    pub(crate) async fn settle(&self, begun: Begun, report: Report) {
        self.outbox.settle(self.repeat, vec![Settled { begun, report }]).await.unwrap();
    }

    /// Makes one attempt for each due lane, all with the same end, and says of what.
    pub(crate) async fn round(&self, report: &Report) -> Vec<String> {
        let begun = self.begin_due().await;
        let mut names: Vec<_> = begun.iter().map(|begun| name(&begun.stored)).collect();
        names.sort();
        for begun in begun {
            self.settle(begun, report.clone()).await;
        }
        names
    }

    pub(crate) async fn state(&self, envelope: &str, part: u32) -> Option<OutboxState> {
        let entry = self.outbox.entry(&key(envelope, part)).await.unwrap();
        entry.map(|entry| entry.entry.state)
    }

    pub(crate) async fn stored(&self, envelope: &str) -> Stored {
        self.outbox.entry(&key(envelope, 0)).await.unwrap().unwrap()
    }
}

/// `m1` for the only part of a message, `m1/2` for the third.
pub(crate) fn name(stored: &Stored) -> String {
    match stored.key.part {
        0 => stored.key.envelope.to_string(),
        part => format!("{}/{part}", stored.key.envelope),
    }
}

/// A part that says `text`.
pub(crate) fn said(text: &str) -> Operation {
    Operation::Send { text: CleanText::of(text, &AsItIs), reply_to: None }
}

/// Lets every text out as it is.
#[derive(Clone, Copy)]
pub(crate) struct AsItIs;

impl Outgoing for AsItIs {
    fn clean(&self, text: &str) -> String {
        text.to_owned()
    }

    fn snapshot(&self) -> Arc<dyn Outgoing> {
        Arc::new(*self)
    }
}

/// Nothing with this word is to be kept.
pub(crate) const CANARY: &str = "canary-4f1d9b7e";

/// Takes one word out.
#[derive(Clone, Copy)]
pub(crate) struct WithoutCanary;

impl Outgoing for WithoutCanary {
    fn clean(&self, text: &str) -> String {
        text.replace(CANARY, "[gone]")
    }

    fn snapshot(&self) -> Arc<dyn Outgoing> {
        Arc::new(*self)
    }
}

/// Remembers what became of messages, in order.
#[derive(Default)]
pub(crate) struct Record(Mutex<Vec<String>>);

impl Record {
    /// What was told since this was last asked.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Deliveries for Record {
    fn lock(&self, _: &mut Tx<'_>, _: &[&EnvelopeId]) -> Result<(), StorageError> {
        Ok(())
    }

    fn settled(
        &self,
        _: &mut Tx<'_>,
        delivery: Delivery<'_>,
        _: Timestamp,
    ) -> Result<(), StorageError> {
        let Delivery { envelope, state, .. } = delivery;
        self.0.lock().unwrap().push(format!("{envelope} {state}"));
        Ok(())
    }
}
