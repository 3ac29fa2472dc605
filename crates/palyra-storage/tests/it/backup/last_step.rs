//! The last step of a restore makes the database. Where it may have done so, nothing of it is taken
//! away.

use std::io::{Cursor, Read};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::backup::{self, BackupError, Source, Verified};
use palyra_storage::blob::BlobId;
use palyra_testkit::postgres::{
    CutKind, CutPlan, CutProxy, DatabaseLocale, PostgresServer, TestDatabase,
};

use super::contents::{everything, fill};
use super::{Target, check_code, create, files, source, unwatched};
use crate::world::World;

const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

/// A backup, and an empty Postgres database that is reached through a proxy.
struct Story {
    world: World,
    ids: Vec<BlobId>,
    file: Vec<u8>,
    target: Target,
    proxy: CutProxy,
}

impl Story {
    async fn begin(kind: CutKind) -> Self {
        let world = World::sqlite().await;
        let Source { db, blobs, .. } = source(&world);
        let ids = fill(&db, &blobs).await;
        let (_, file) = create(&source(&world)).await;
        let server = PostgresServer::shared().unwrap();
        let mut target = Target::postgres();
        let proxy = CutProxy::start(server, CutPlan::AtCommit { nth: 1, kind }).unwrap();
        let url = proxy.url(target.postgres.as_deref().unwrap());
        target.options.config.url = url.into();
        Self { world, ids, file, target, proxy }
    }

    fn database(&self) -> Arc<TestDatabase> {
        self.target.postgres.clone().unwrap()
    }

    /// Restores, and does something before the last step.
    async fn restore_and(
        &self,
        then: impl FnOnce() + Send + 'static,
    ) -> Result<Verified, BackupError> {
        let input = AtEnd { input: Cursor::new(self.file.clone()), then: Some(then) };
        backup::restore(input, self.target.options.clone(), unwatched()).await
    }

    /// The whole database is there, with the content of every blob, and nothing else.
    async fn check_whole(&self) {
        let db = self.target.open().await;
        assert_eq!(everything(&db).await, everything(&self.world.db).await);
        let blobs = self.target.blobs(&self.world, &db);
        for id in &self.ids {
            blobs.get(id).await.unwrap();
        }
        db.close().await;
        assert_eq!(files(&self.target.folder.path().join("blobs")).len(), self.ids.len());
        let again = self.target.restore(&self.file).await.unwrap_err();
        check_code(&again, ErrorCode::BackupTargetInUse);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_to_postgres_whose_commit_lost_its_answer_is_done() {
    let story = Story::begin(CutKind::AfterForward).await;
    story.target.restore(&story.file).await.unwrap();
    assert_eq!(story.proxy.counts().after_forward, 1);
    story.check_whole().await;
}

/// A look that does not wait for it would find nothing there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_to_postgres_whose_commit_still_travels_is_done() {
    let story = Story::begin(CutKind::LateForward).await;
    story.target.restore(&story.file).await.unwrap();
    assert_eq!(story.proxy.counts().late_forward, 1);
    story.check_whole().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_to_postgres_whose_commit_was_lost_leaves_nothing() {
    let story = Story::begin(CutKind::BeforeForward).await;
    let lost = story.target.restore(&story.file).await.unwrap_err();
    check_code(&lost, ErrorCode::StorageUnavailable);
    assert_eq!(story.proxy.counts().before_forward, 1);
    assert!(story.target.is_empty());
    story.target.restore(&story.file).await.unwrap();
    story.check_whole().await;
}

/// Whoever has waited for it makes the empty database their own, which is not what was restored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_database_that_somebody_else_has_made_meanwhile_is_not_the_restored_one() {
    // The lock under which schemas are made.
    const MAKE: &str = "SELECT pg_advisory_lock(x'70616c797261'::BIGINT);
        CREATE TABLE commit_marks (slot TEXT, node TEXT, unit TEXT, at BIGINT)";
    const WAITING: &str = "SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database
        WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()";
    let story = Story::begin(CutKind::BeforeForward).await;
    let database = story.database();
    let (sender, somebody) = mpsc::channel();
    let wait_in_line = move || {
        let somebody = database.clone();
        sender.send(thread::spawn(move || somebody.psql(MAKE))).unwrap();
        let deadline = Instant::now() + LIMIT;
        while database.psql(WAITING).unwrap().trim() != "1" {
            assert!(Instant::now() < deadline, "nobody waits for the lock");
        }
    };
    let lost = story.restore_and(wait_in_line).await.unwrap_err();
    somebody.recv().unwrap().join().unwrap().unwrap();
    check_code(&lost, ErrorCode::StorageUnavailable);
    assert!(story.target.is_empty());
}

/// The restore is done, and nobody can be asked about it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_to_postgres_of_which_nothing_can_be_learnt_keeps_its_blobs() {
    let mut story = Story::begin(CutKind::AfterForward).await;
    story.target.options.config.retry_for = Duration::from_millis(300);
    let admin = PostgresServer::shared().unwrap().create_database(DatabaseLocale::C).unwrap();
    let (admin, name) = (Arc::new(admin), story.database().name().to_owned());
    let allow = move |allowed: bool| {
        let allow = format!("ALTER DATABASE \"{name}\" ALLOW_CONNECTIONS {allowed}");
        admin.psql(&allow).unwrap();
    };
    let refuse = allow.clone();
    let unknown = story.restore_and(move || refuse(false)).await.unwrap_err();
    allow(true);
    check_code(&unknown, ErrorCode::StorageCommitUnknown);
    let told = unknown.envelope().message().to_owned();
    assert!(told.contains("look whether the database is there before restoring again"), "{told}");
    story.check_whole().await;
}

/// Input that does something when it has been read.
struct AtEnd<F> {
    input: Cursor<Vec<u8>>,
    then: Option<F>,
}

impl<F: FnOnce()> Read for AtEnd<F> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(into)?;
        if read == 0
            && !into.is_empty()
            && let Some(then) = self.then.take()
        {
            then();
        }
        Ok(read)
    }
}
