//! Going back to the copy that a migration has kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use palyra_common::error::ErrorCode;
use palyra_storage::backup::{self, BackupError, PutBack};
use palyra_storage::{Database, MIGRATIONS, OpenOptions, SCHEMA_VERSION, params};
use palyra_testkit::crash::CrashPlan;
use palyra_testkit::fs::SmallDisk;
use palyra_testkit::process::{is_reexecuted, reexec_test};

use super::{check_code, files, unwatched};
use crate::migrations::{NEXT, fixtures};
use crate::world::{COUNT, INSERT, World};

const LIMIT: Duration = Duration::from_secs(60);
const COPY_VARIABLE: &str = "PALYRA_TEST_COPY";

/// A database that a newer program has migrated and written to since, with the copy from before.
struct Migrated {
    folder: tempfile::TempDir,
}

impl Migrated {
    async fn new() -> Self {
        let World { db, options, folder, .. } = World::sqlite().await;
        fixtures::fill(&db).await;
        db.close().await;
        let migrated = Self { folder };
        std::fs::create_dir(migrated.path().join("blobs")).unwrap();
        std::fs::write(migrated.path().join("blobs/one"), "stays").unwrap();
        let db = Database::open(OpenOptions { migrations: &NEXT, ..options }).await.unwrap();
        migrated.write_since(&db).await;
        db.close().await;
        migrated
    }

    /// As after a power failure: what was written last is in the log alone.
    async fn with_log() -> Self {
        let migrated = Self::new().await;
        let saved = tempfile::tempdir().unwrap();
        let names = ["palyra.db", "palyra.db-wal"];
        let db = migrated.open_newer(migrated.path()).await;
        migrated.write_since(&db).await;
        for name in names {
            std::fs::copy(migrated.path().join(name), saved.path().join(name)).unwrap();
        }
        db.close().await;
        for name in names {
            std::fs::copy(saved.path().join(name), migrated.path().join(name)).unwrap();
        }
        migrated
    }

    async fn write_since(&self, db: &Database) {
        let count = notes(db).await;
        let add = move |tx: &mut palyra_storage::Tx<'_>| {
            tx.execute(&INSERT, params![format!("since-{count}").as_str(), 1_i64])
        };
        db.write(add).await.unwrap();
    }

    async fn open_newer(&self, folder: &Path) -> Database {
        let options = OpenOptions { migrations: &NEXT, ..OpenOptions::in_directory(folder) };
        Database::open(options).await.unwrap()
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn copy(&self) -> PathBuf {
        self.path().join(format!("palyra.db.schema-{SCHEMA_VERSION}.copy"))
    }

    fn options(&self) -> OpenOptions {
        OpenOptions::in_directory(self.path())
    }

    async fn put_back(&self, file: &Path) -> Result<PutBack, BackupError> {
        backup::put_back(file.to_owned(), self.options()).await
    }

    /// The database is the one from before the migration, and says that it came back.
    async fn check_old(&self, when: &str) {
        let db = Database::open(self.options()).await.unwrap();
        fixtures::check(&db).await;
        assert_eq!(notes(&db).await, 0, "{when}");
        assert!(db.write(backup::first_look).await.unwrap(), "{when}");
        db.close().await;
        assert!(files(self.path()).iter().all(|name| !name.contains("unfinished")), "{when}");
    }

    /// What is kept under `name` is the newer database, with all that was written.
    async fn check_kept(&self, name: &str, expected: i64) {
        let elsewhere = tempfile::tempdir().unwrap();
        for ending in ["", "-wal"] {
            let from = self.path().join(format!("{name}{ending}"));
            if from.exists() {
                std::fs::copy(from, elsewhere.path().join(format!("palyra.db{ending}"))).unwrap();
            }
        }
        let db = self.open_newer(elsewhere.path()).await;
        assert_eq!(notes(&db).await, expected);
        db.close().await;
    }
}

async fn notes(db: &Database) -> i64 {
    db.read(|tx| tx.query_one(&COUNT, params![], |row| row.get(0))).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_becomes_the_database_and_the_other_one_is_kept() {
    let migrated = Migrated::new().await;
    let (copy, before) = (migrated.copy(), std::fs::read(migrated.copy()).unwrap());
    assert!(backup::is_copy(&before));
    assert_eq!(backup::verify_copy(&copy, MIGRATIONS).unwrap(), SCHEMA_VERSION);
    let replaced = Some(migrated.path().join("palyra.db.replaced-1"));
    let done = migrated.put_back(&copy).await.unwrap();
    assert_eq!(done, PutBack { schema: SCHEMA_VERSION, replaced, replaced_log: None });
    migrated.check_old("at once").await;
    migrated.check_kept("palyra.db.replaced-1", 1).await;
    assert_eq!(std::fs::read(&copy).unwrap(), before);

    // The one that was replaced is a copy as well, for the program that made it.
    let newer = OpenOptions { migrations: &NEXT, ..migrated.options() };
    let kept = migrated.path().join("palyra.db.replaced-1");
    let again = backup::put_back(kept.clone(), newer).await.unwrap();
    assert_eq!(again.replaced, Some(migrated.path().join("palyra.db.replaced-2")));
    let db = migrated.open_newer(migrated.path()).await;
    assert_eq!(notes(&db).await, 1);
    db.close().await;
    check_code(&migrated.put_back(&kept).await.unwrap_err(), ErrorCode::StorageNewerSchema);
}

/// A migration of a restored database keeps a copy before anybody has looked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_was_restored_itself_is_put_back() {
    let migrated = Migrated::new().await;
    migrated.put_back(&migrated.copy()).await.unwrap();
    migrated.open_newer(migrated.path()).await.close().await;
    migrated.put_back(&migrated.copy()).await.unwrap();
    migrated.check_old("the second time").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_in_the_log_alone_is_kept_with_the_database() {
    let migrated = Migrated::with_log().await;
    let done = migrated.put_back(&migrated.copy()).await.unwrap();
    assert_eq!(done.replaced_log, Some(migrated.path().join("palyra.db.replaced-1-wal")));
    assert!(!migrated.path().join("palyra.db-wal").exists(), "it is of another database");
    migrated.check_old("with a log").await;
    migrated.check_kept("palyra.db.replaced-1", 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_put_back_changes_nothing() {
    let migrated = Migrated::new().await;
    let before = std::fs::read(migrated.path().join("palyra.db")).unwrap();
    let whole = std::fs::read(migrated.copy()).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 4096].fill(0xff);
    let damaged_copy = migrated.path().join("damaged.copy");
    std::fs::write(&damaged_copy, damaged).unwrap();
    let cut = migrated.path().join("cut.copy");
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let foreign = migrated.path().join("foreign.copy");
    let other = rusqlite::Connection::open(&foreign).unwrap();
    other.execute_batch("CREATE TABLE theirs (a)").unwrap();
    drop(other);
    let empty = migrated.path().join("empty.copy");
    let other = rusqlite::Connection::open(&empty).unwrap();
    other.execute_batch("PRAGMA user_version = 1").unwrap();
    drop(other);
    let newer = migrated.path().join("newer.copy");
    std::fs::copy(migrated.path().join("palyra.db"), &newer).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let outside = elsewhere.path().join("palyra.db.schema-1.copy");
    std::fs::copy(migrated.copy(), &outside).unwrap();
    let refused = [
        (damaged_copy, ErrorCode::BackupInvalid),
        (cut, ErrorCode::BackupInvalid),
        (foreign, ErrorCode::StorageForeign),
        (empty, ErrorCode::StorageForeign),
        (newer, ErrorCode::StorageNewerSchema),
        (outside, ErrorCode::CommonInvalidInput),
        (migrated.path().join("palyra.db"), ErrorCode::CommonInvalidInput),
    ];
    for (file, code) in refused {
        let error = migrated.put_back(&file).await.unwrap_err();
        assert_eq!(error.code(), code, "{}: {error:?}", file.display());
        let told = error.envelope().message().to_owned();
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(told.contains(name) || code == ErrorCode::StorageNewerSchema, "{told}");
    }
    let mut on_a_server = migrated.options();
    on_a_server.config.url = "postgres://localhost/palyra".to_owned().into();
    let error = backup::put_back(migrated.copy(), on_a_server).await.unwrap_err();
    check_code(&error, ErrorCode::CommonInvalidInput);
    assert_eq!(std::fs::read(migrated.path().join("palyra.db")).unwrap(), before);
    let left = files(migrated.path());
    let strange = |name: &&String| name.contains("unfinished") || name.contains("replaced");
    assert_eq!(left.iter().find(strange), None, "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_in_use_is_not_replaced() {
    let migrated = Migrated::new().await;
    let db = migrated.open_newer(migrated.path()).await;
    let refused = migrated.put_back(&migrated.copy()).await.unwrap_err();
    check_code(&refused, ErrorCode::StorageLocked);
    db.close().await;
}

/// What an earlier attempt has left unfinished stays so when the next one fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_changes_nothing() {
    let migrated = Migrated::new().await;
    let database = std::fs::read(migrated.path().join("palyra.db")).unwrap();
    let Some(disk) = SmallDisk::mount(4 << 20).unwrap() else { return };
    let (copy, mark) = ("palyra.db.schema.copy", "palyra.db.unfinished-return");
    std::fs::write(disk.path().join("palyra.db"), &database).unwrap();
    std::fs::copy(migrated.copy(), disk.path().join(copy)).unwrap();
    // As much as fits; the rest does not matter.
    let _ = std::fs::write(disk.path().join("filler"), vec![0_u8; 8 << 20]);
    let options = OpenOptions::in_directory(disk.path());
    for begun_before in [false, true] {
        if begun_before {
            std::fs::File::create(disk.path().join(mark)).unwrap();
        }
        let refused = backup::put_back(disk.path().join(copy), options.clone()).await.unwrap_err();
        check_code(&refused, ErrorCode::StorageDiskFull);
        assert_eq!(disk.path().join(mark).exists(), begun_before);
        assert!(!disk.path().join("palyra.db-coming").exists());
        assert_eq!(std::fs::read(disk.path().join("palyra.db")).unwrap(), database);
    }
}

/// The child: puts a copy back.
#[test]
#[ignore = "started by another test"]
fn put_back_in_a_child() {
    if !is_reexecuted() {
        return;
    }
    let options = OpenOptions::in_directory(std::env::var_os("PALYRA_DATA_DIR").unwrap());
    let copy = PathBuf::from(std::env::var_os(COPY_VARIABLE).unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(backup::put_back(copy, options)).unwrap();
}

/// Where a kill changes nothing for whoever starts next, and where nobody may start.
const BEFORE: [&str; 2] = ["put_back.after_copy", "put_back.before_swap"];
const AMID: [&str; 4] = [
    "put_back.after_mark",
    "put_back.after_part",
    "put_back.before_rename",
    "put_back.after_rename",
];

/// Beside a database that an earlier return has replaced.
async fn with_an_older_one() -> Migrated {
    let migrated = Migrated::with_log().await;
    std::fs::write(migrated.path().join("palyra.db.replaced-1"), "older").unwrap();
    migrated
}

fn kill(migrated: &Migrated, point: &str) {
    kill_at(migrated, CrashPlan::at(point));
}

fn kill_at(migrated: &Migrated, plan: CrashPlan) {
    let child = reexec_test("backup::copies::put_back_in_a_child").unwrap();
    let child = child.data_dir(migrated.path()).env(COPY_VARIABLE, migrated.copy());
    let mut child = child.crash(&plan).spawn().unwrap();
    plan.expect_crash(&mut child, LIMIT).unwrap();
}

/// The return is made again: one database is kept, whole, and that one is named.
async fn go_on(migrated: &Migrated, when: &str) {
    let done = migrated.put_back(&migrated.copy()).await.unwrap();
    assert_eq!(done.replaced, Some(migrated.path().join("palyra.db.replaced-2")), "{when}");
    migrated.check_old(when).await;
    migrated.check_kept("palyra.db.replaced-2", 2).await;
    let older = std::fs::read(migrated.path().join("palyra.db.replaced-1")).unwrap();
    assert_eq!(older, b"older", "{when}");
    let left = files(migrated.path());
    let strange = |name: &&String| name.contains("replaced-3") || name.contains("-coming");
    assert_eq!(left.iter().find(strange), None, "{when}: {left:?}");
    assert_eq!(files(&migrated.path().join("blobs")), ["one"], "{when}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_before_the_end_of_copying_changes_nothing() {
    for point in BEFORE {
        let migrated = with_an_older_one().await;
        kill(&migrated, point);
        let db = migrated.open_newer(migrated.path()).await;
        assert_eq!(notes(&db).await, 2, "{point}");
        db.close().await;
        let left = files(migrated.path());
        assert!(left.iter().all(|name| !name.contains("-coming")), "{point}: {left:?}");
        kill(&migrated, point);
        go_on(&migrated, point).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_amid_the_swap_is_told_until_it_is_done() {
    for point in AMID {
        let migrated = with_an_older_one().await;
        kill(&migrated, point);
        check_unfinished(&migrated).await;
        go_on(&migrated, point).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_crash_loses_nothing_either() {
    for first in AMID {
        for second in BEFORE.into_iter().chain(AMID) {
            let migrated = with_an_older_one().await;
            kill(&migrated, first);
            kill(&migrated, second);
            check_unfinished(&migrated).await;
            go_on(&migrated, &format!("{first}, then {second}")).await;
        }
    }
}

/// Whoever thinks better of it puts back what was replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_return_that_was_not_finished_can_be_taken_back() {
    let migrated = with_an_older_one().await;
    kill(&migrated, "put_back.before_rename");
    let newer = OpenOptions { migrations: &NEXT, ..migrated.options() };
    let kept = migrated.path().join("palyra.db.replaced-2");
    let done = backup::put_back(kept.clone(), newer).await.unwrap();
    assert_eq!(done.replaced, Some(kept));
    let db = migrated.open_newer(migrated.path()).await;
    assert_eq!(notes(&db).await, 2);
    db.close().await;
}

/// The log is moved, the database is not yet, or both are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_between_any_two_files_is_gone_on_with() {
    for part in 1..=3 {
        let migrated = with_an_older_one().await;
        kill_at(&migrated, CrashPlan::at("put_back.after_part").nth(part));
        check_unfinished(&migrated).await;
        go_on(&migrated, &format!("part {part}")).await;
    }
}

/// As a power failure may leave it where names are not kept in the order in which they were given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_left_behind_follows_its_database() {
    let migrated = with_an_older_one().await;
    kill(&migrated, "put_back.before_rename");
    let name = |name: &str| migrated.path().join(name);
    std::fs::rename(name("palyra.db.replaced-2-wal"), name("palyra.db-wal")).unwrap();
    go_on(&migrated, "with the log left behind").await;
}

/// Nobody may, and somebody did: what they wrote is kept, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_in_spite_of_the_mark_is_kept() {
    let migrated = with_an_older_one().await;
    kill(&migrated, "put_back.after_rename");
    std::fs::write(migrated.path().join("palyra.db-wal"), [1; 64]).unwrap();
    let put_back = std::fs::read(migrated.path().join("palyra.db")).unwrap();
    let done = migrated.put_back(&migrated.copy()).await.unwrap();
    assert_eq!(done.replaced, Some(migrated.path().join("palyra.db.replaced-3")));
    migrated.check_old("at last").await;
    migrated.check_kept("palyra.db.replaced-2", 2).await;
    let kept = |ending: &str| migrated.path().join(format!("palyra.db.replaced-3{ending}"));
    assert!(std::fs::read(kept("")).unwrap() == put_back, "it was changed");
    assert_eq!(std::fs::read(kept("-wal")).unwrap(), [1; 64]);
}

/// Whoever uses it where it is would go on with a database that was moved away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_behind_a_link_is_left_alone() {
    let (migrated, other) = (Migrated::with_log().await, tempfile::tempdir().unwrap());
    let link = other.path().join("palyra.db");
    std::os::unix::fs::symlink(migrated.path().join("palyra.db"), &link).unwrap();
    let copy = other.path().join("palyra.db.schema.copy");
    std::fs::copy(migrated.copy(), &copy).unwrap();
    let (before, options) = (files(migrated.path()), OpenOptions::in_directory(other.path()));
    let restored = std::io::Cursor::new(Vec::new());
    check_code(
        &backup::put_back(copy, options.clone()).await.unwrap_err(),
        ErrorCode::StorageLinked,
    );
    check_code(
        &backup::restore(restored, options.clone(), unwatched()).await.unwrap_err(),
        ErrorCode::StorageLinked,
    );
    let examined = Database::examine(&options).unwrap_err();
    assert_eq!(examined.code(), ErrorCode::StorageLinked);
    let opened = Database::open(options).await.unwrap_err();
    assert_eq!(opened.code(), ErrorCode::StorageLinked);
    assert_eq!(files(migrated.path()), before);
}

/// Through it the lock would be taken, and every write refused because it is not where it belongs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_behind_a_link_is_refused() {
    let [folder, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let link = folder.path().join("palyra.lock");
    std::os::unix::fs::symlink(other.path().join("lock"), &link).unwrap();
    let refused = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageLinked);
    assert!(refused.to_string().contains("palyra.lock"), "{refused}");
}

/// A log without its database may be all that there is of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_of_a_database_that_is_gone_is_not_thrown_away() {
    for (ending, empty) in [("-wal", false), ("-wal", true), ("-journal", false)] {
        let migrated = Migrated::new().await;
        let log = migrated.path().join(format!("palyra.db{ending}"));
        std::fs::remove_file(migrated.path().join("palyra.db")).unwrap();
        if empty {
            std::fs::write(migrated.path().join("palyra.db"), "").unwrap();
        }
        std::fs::write(&log, [1; 64]).unwrap();
        let refused = migrated.put_back(&migrated.copy()).await.unwrap_err();
        check_code(&refused, ErrorCode::StorageDatabaseGone);
        assert!(refused.envelope().message().contains(&log.display().to_string()), "{refused:?}");
        // As the hint says.
        std::fs::rename(&log, migrated.path().join("kept-log")).unwrap();
        let done = migrated.put_back(&migrated.copy()).await.unwrap();
        assert_eq!(done.replaced, None);
        migrated.check_old(ending).await;
        assert_eq!(std::fs::read(migrated.path().join("kept-log")).unwrap(), [1; 64]);
    }
}

/// SQLite would undo in the new database what an unfinished change had done to the old one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journal_of_the_old_database_goes_with_it() {
    let migrated = Migrated::new().await;
    std::fs::write(migrated.path().join("palyra.db-journal"), "undo").unwrap();
    migrated.put_back(&migrated.copy()).await.unwrap();
    assert!(!migrated.path().join("palyra.db-journal").exists());
    let kept = migrated.path().join("palyra.db.replaced-1-journal");
    assert_eq!(std::fs::read(kept).unwrap(), b"undo");
    migrated.check_old("with a journal").await;
}

/// Nobody works with it, and neither a backup nor a copy that fails makes that forgotten.
async fn check_unfinished(migrated: &Migrated) {
    let newer = OpenOptions { migrations: &NEXT, ..migrated.options() };
    let refused = Database::open(newer.clone()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageUnfinishedReturn);
    let refused = Database::examine(&newer).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageUnfinishedReturn);
    let cut = migrated.path().join("cut.copy");
    std::fs::write(&cut, &std::fs::read(migrated.copy()).unwrap()[..9_000]).unwrap();
    check_code(&migrated.put_back(&cut).await.unwrap_err(), ErrorCode::BackupInvalid);
    std::fs::remove_file(cut).unwrap();
    let empty = std::io::Cursor::new(Vec::new());
    let refused = backup::restore(empty, migrated.options(), unwatched()).await.unwrap_err();
    check_code(&refused, ErrorCode::StorageUnfinishedReturn);
    let refused = Database::open(newer).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageUnfinishedReturn);
}
