//! A restore that is killed leaves nothing that a daemon would work on, and can be done again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use palyra_common::error::ErrorCode;
use palyra_storage::backup::{self, Source};
use palyra_storage::{Database, JournalStore, OpenOptions};
use palyra_testkit::crash::CrashPlan;
use palyra_testkit::process::{Builder, is_reexecuted, reexec_test};
use palyra_testkit::seed::{Seed, rounds};

use super::contents::{everything, fill};
use super::{Target, check_code, create, files, source, unwatched};
use crate::world::World;

const LIMIT: Duration = Duration::from_secs(60);
const FILE_VARIABLE: &str = "PALYRA_TEST_BACKUP";
const BLOBS_VARIABLE: &str = "PALYRA_STORAGE_BLOBS";

/// The child: restores a file.
#[test]
#[ignore = "started by another test"]
fn restore_in_a_child() {
    if !is_reexecuted() {
        return;
    }
    let mut options = OpenOptions::in_directory(std::env::var_os("PALYRA_DATA_DIR").unwrap());
    options.config.url = std::env::var("PALYRA_STORAGE_URL").unwrap().into();
    options.config.blobs = std::env::var(BLOBS_VARIABLE).unwrap();
    let file = std::fs::File::open(std::env::var_os(FILE_VARIABLE).unwrap()).unwrap();
    println!("restoring");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(backup::restore(file, options, unwatched())).unwrap();
    println!("restored");
}

struct Story {
    world: World,
    folder: tempfile::TempDir,
    file: Vec<u8>,
}

impl Story {
    async fn begin() -> Self {
        let world = World::sqlite().await;
        let Source { db, blobs, .. } = source(&world);
        fill(&db, &blobs).await;
        let folder = tempfile::tempdir().unwrap();
        let (_, file) = create(&source(&world)).await;
        std::fs::write(folder.path().join("backup"), &file).unwrap();
        Self { world, folder, file }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("backup")
    }

    fn restoring(&self, target: &Target) -> Builder {
        reexec_test("backup::interrupted::restore_in_a_child")
            .unwrap()
            .data_dir(target.folder.path())
            .env("PALYRA_STORAGE_URL", target.options.config.url.expose())
            .env(BLOBS_VARIABLE, &target.options.config.blobs)
            .env(FILE_VARIABLE, self.path())
    }

    fn crash(&self, target: &Target, point: &str, nth: u64) {
        let plan = CrashPlan::at(point).nth(nth);
        let mut child = self.restoring(target).crash(&plan).spawn().unwrap();
        plan.expect_crash(&mut child, LIMIT).unwrap();
    }

    /// After a kill: all or nothing. If nothing, a second restore works; in a data directory it leaves
    /// nothing over, elsewhere the blobs of the first stay.
    async fn check(&self, target: &Target, when: &str) {
        let expected = everything(&self.world.db).await;
        let opened = if target.options.config.url.is_empty() {
            Database::open(target.options.clone()).await.map_err(|error| error.code())
        } else {
            let refused = Database::open(target.options.clone()).await.unwrap_err();
            assert_eq!(refused.code(), ErrorCode::StorageUnfinishedRestore, "{when}");
            match target.restore(&self.file).await {
                Ok(_) => Err(ErrorCode::StorageUnfinishedRestore),
                Err(_) => Ok(target.open().await),
            }
        };
        let db = match opened {
            Ok(whole) => whole,
            Err(code) => {
                assert_eq!(code, ErrorCode::StorageUnfinishedRestore, "{when}");
                if target.options.config.url.is_empty() {
                    target.restore(&self.file).await.unwrap();
                }
                target.open().await
            }
        };
        assert_eq!(everything(&db).await, expected, "{when}");
        assert_eq!(JournalStore::new(db.clone()).verify().await.unwrap().fault, None, "{when}");
        if target.options.config.url.is_empty() {
            assert_eq!(files(&target.folder.path().join("blobs")).len(), 3, "{when}");
        }
        db.close().await;
        check_code(&target.restore(&self.file).await.unwrap_err(), ErrorCode::BackupTargetInUse);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_a_restore_to_sqlite_is_made_good() {
    let story = Story::begin().await;
    let points = [
        ("restore.after_table", 1),
        ("restore.after_table", 6),
        ("restore.after_blob", 1),
        ("restore.after_blob", 3),
        ("restore.before_rename", 1),
        ("restore.after_rename", 1),
    ];
    for (point, nth) in points {
        let target = Target::sqlite();
        story.crash(&target, point, nth);
        story.check(&target, point).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_a_restore_to_postgres_is_made_good() {
    let story = Story::begin().await;
    let points = [
        ("restore.after_table", 6),
        ("restore.after_blob", 3),
        ("restore.before_commit", 1),
        ("restore.after_commit", 1),
    ];
    for (point, nth) in points {
        let target = Target::postgres();
        story.crash(&target, point, nth);
        story.check(&target, point).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_a_restore_at_any_moment_is_made_good() {
    let mut rng = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let story = Story::begin().await;
    for round in 0..rounds(4, 40) {
        let target = Target::sqlite();
        let mut child = story.restoring(&target).spawn().unwrap();
        child.wait_for_line("restoring", LIMIT).unwrap();
        std::thread::sleep(rng.duration(Duration::ZERO..Duration::from_millis(600)));
        child.kill_dash_nine().unwrap();
        if files(target.folder.path()).iter().any(|name| name.starts_with("palyra.db")) {
            story.check(&target, &format!("round {round}")).await;
        } else {
            // Killed before it had begun.
            target.restore(&story.file).await.unwrap();
        }
    }
}

/// Puts something into a folder for blobs that no restore has put there.
fn put_precious(folder: &Path) -> PathBuf {
    let blob = folder.join("aa/precious");
    std::fs::create_dir_all(blob.parent().unwrap()).unwrap();
    std::fs::write(&blob, "precious").unwrap();
    blob
}

async fn check_refused_for_its_blobs(story: &Story, target: &Target) {
    let refused = target.restore(&story.file).await.unwrap_err();
    check_code(&refused, ErrorCode::BackupTargetInUse);
    let folder = target.folder.path().join("blobs");
    assert_eq!(refused.to_string(), format!("{} holds data already", folder.display()));
    assert_eq!(files(&folder), ["aa/precious"]);
}

/// Its blobs went elsewhere, so that it did not mind those in the data directory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_a_restore_leaves_the_blobs_that_were_there_before() {
    let (story, mut target) = (Story::begin().await, Target::sqlite());
    let folder = target.folder.path().join("blobs");
    let (precious, elsewhere) = (put_precious(&folder), tempfile::tempdir().unwrap());
    target.options.config.blobs = elsewhere.path().to_str().unwrap().to_owned();
    story.crash(&target, "restore.after_blob", 3);
    target.options.config.blobs = String::new();
    check_refused_for_its_blobs(&story, &target).await;
    std::fs::remove_file(precious).unwrap();
    story.check(&target, "the blobs are gone").await;
}

/// A node that keeps its rows on Postgres works in a data directory with an unfinished restore.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_a_restore_leaves_the_blobs_that_were_put_after_it() {
    // In the middle of the large blob, which then has another name, and after it.
    for (point, nth) in [("restore.after_blob", 3), ("restore.inside_blob", 2)] {
        let (story, target) = (Story::begin().await, Target::sqlite());
        story.crash(&target, point, nth);
        let folder = target.folder.path().join("blobs");
        assert!(!files(&folder).is_empty());
        let precious = put_precious(&folder);
        check_refused_for_its_blobs(&story, &target).await;
        std::fs::remove_file(precious).unwrap();
        story.check(&target, point).await;
    }
}
