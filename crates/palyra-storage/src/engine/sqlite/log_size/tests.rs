use super::*;

fn grown(folder: &Path) -> (Connection, PathBuf) {
    let path = folder.join("test.db");
    let connection = Connection::open(&path).unwrap();
    let grow = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
        CREATE TABLE t (a BLOB); INSERT INTO t VALUES (zeroblob(200000));";
    connection.execute_batch(grow).unwrap();
    (connection, path)
}

fn log_bytes(path: &Path) -> u64 {
    std::fs::metadata(LogSize::of(path).path).unwrap().len()
}

#[test]
fn a_large_log_is_started_over() {
    let folder = tempfile::tempdir().unwrap();
    let (connection, path) = grown(folder.path());
    assert!(log_bytes(&path) > 100_000);
    let mut watch = LogSize::with_limit(&path, 100_000);
    for _ in 1..COMMITS_BETWEEN_LOOKS {
        watch.committed(&connection);
    }
    assert!(log_bytes(&path) > 100_000, "looked too early");
    watch.committed(&connection);
    assert_eq!(log_bytes(&path), 0);
}

#[test]
fn a_small_log_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (connection, path) = grown(folder.path());
    LogSize::with_limit(&path, 10_000_000).look(&connection);
    assert!(log_bytes(&path) > 100_000);
}

#[test]
fn a_long_read_only_delays_it() {
    let folder = tempfile::tempdir().unwrap();
    let (connection, path) = grown(folder.path());
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM t;").unwrap();
    connection.execute_batch("INSERT INTO t VALUES (zeroblob(10))").unwrap();
    let watch = LogSize::with_limit(&path, 100_000);
    let begun = std::time::Instant::now();
    connection.busy_timeout(BUSY).unwrap();
    watch.look(&connection);
    assert!(log_bytes(&path) > 100_000);
    // Whoever writes does not wait for it as long as for a lock.
    assert!(begun.elapsed() < BUSY / 2, "{:?}", begun.elapsed());
    reader.execute_batch("COMMIT").unwrap();
    watch.look(&connection);
    assert_eq!(log_bytes(&path), 0);
}
