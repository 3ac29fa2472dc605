use std::path::Path;

use palyra_common::error::ErrorCode;
use rusqlite::config::DbConfig;

use super::*;
use crate::database::DirectoryLock;
use crate::engine::sqlite::connection::open_first;
use crate::engine::sqlite::files::with_ending;
use crate::engine::sqlite::migrate::migrate;
use crate::migrate::MIGRATIONS;
use crate::unit::unit;

fn file_in(folder: &Path) -> SqliteFile {
    SqliteFile { path: folder.join("test.db"), max_bytes: None }
}

fn log_of(folder: &Path) -> std::path::PathBuf {
    with_ending(file_in(folder).path(), "-wal")
}

/// What a crash at this moment would leave behind: the file and its log.
fn crashed(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(file_in(folder).path(), file_in(copy.path()).path()).unwrap();
    std::fs::copy(log_of(folder), log_of(copy.path())).unwrap();
    copy
}

/// Puts a commit behind the end of the log that its index does not know of, as one does that fails
/// when its frames are complete.
fn leave_commit(folder: &Path, statement: &str) {
    let other = crashed(folder);
    let connection = open_writer(&file_in(other.path())).unwrap();
    connection.execute_batch(statement).unwrap();
    std::fs::copy(log_of(other.path()), log_of(folder)).unwrap();
}

fn notes(connection: &Connection) -> i64 {
    connection.query_row("SELECT count(*) FROM notes", [], |row| row.get(0)).unwrap()
}

fn writer_in(folder: &Path, units: mpsc::Receiver<Box<dyn UnitOfWork>>) -> Writer {
    let file = file_in(folder);
    let lock = DirectoryLock::take(folder).unwrap();
    let connection = open_first(&file).unwrap();
    migrate(&connection, file.path(), MIGRATIONS).unwrap();
    connection.execute_batch("CREATE TABLE notes (id TEXT)").unwrap();
    Writer {
        holding: Holding::of(lock, file.path()).unwrap(),
        file,
        connection: Some(connection),
        units,
        bell: Arc::default(),
        readers: Vec::new(),
    }
}

#[test]
fn right_after_a_burst_others_are_waited_for_and_after_a_pause_nobody_is() {
    let folder = tempfile::tempdir().unwrap();
    let (queue, units) = mpsc::channel(2);
    let mut writer = writer_in(folder.path(), units);
    let [first, second, third] = [(); 3].map(|()| unit(|_| Ok::<(), StorageError>(())));
    queue.try_send(second.0).ok().unwrap();
    queue.try_send(third.0).ok().unwrap();
    let last = writer.group(first.0, &mut Vec::new(), None).ok().unwrap();

    assert_eq!(last.callers, 3);
    let awaited = last.awaited(last.answered).unwrap();
    assert_eq!(
        (awaited.callers, awaited.until),
        (3, last.answered + (last.took / PATIENCE).min(MOST_PATIENCE))
    );
    assert!(last.awaited(last.answered + MOST_PATIENCE).is_none(), "they had their time");
    let hour = Duration::from_secs(3600);
    assert!(last.awaited(last.answered + hour).is_none(), "whoever comes now is alone");
}

/// The index of the log goes with the last connection; whoever opens the file next makes a new one of
/// all that the log holds.
#[test]
fn what_a_late_failure_left_does_not_come_back_without_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer_in(folder.path(), mpsc::channel(1).1);
    leave_commit(folder.path(), "INSERT INTO notes VALUES ('late')");
    // A disk that fails commits fails the last connection's checkpoint, too.
    let connection = writer.ready().unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    let (unit, mut answer) = unit(|_| Ok::<(), StorageError>(()));
    let error = StorageError::Unavailable(Arc::new(std::io::Error::other("the disk failed")));
    writer.give_up(Broken { error, ran: vec![Ran::nothing(unit)], stage: Stage::MaybeLogged });

    let told = answer.try_recv().unwrap().unwrap_err();
    assert_eq!(told.code(), ErrorCode::StorageUnavailable, "{told:?}");
    assert_eq!(notes(writer.ready().unwrap()), 0, "it was told as not written");
    let copy = crashed(folder.path());
    assert_eq!(notes(&open_writer(&file_in(copy.path())).unwrap()), 0, "it came back");
}
