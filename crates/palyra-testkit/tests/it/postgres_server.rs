use std::path::Path;

use palyra_testkit::postgres::{DatabaseLocale, PostgresServer, StopMode, TestDatabase};

use crate::world::{any_process_in, eventually, is_alive};

fn database(locale: DatabaseLocale) -> TestDatabase {
    PostgresServer::shared().unwrap().create_database(locale).unwrap()
}

#[test]
fn the_locale_decides_how_text_is_ordered() {
    let sorted = "SELECT string_agg(t, '' ORDER BY t) FROM (VALUES ('a'), ('B'), ('c')) AS v(t)";
    assert_eq!(database(DatabaseLocale::C).psql(sorted).unwrap(), "Bac");
    assert_eq!(database(DatabaseLocale::Icu).psql(sorted).unwrap(), "aBc");
}

/// On the disk, where a test may kill the server.
#[test]
fn commits_are_durable_and_the_network_is_out_of_reach() {
    let own = PostgresServer::start().unwrap();
    let killable = own.create_database(DatabaseLocale::C).unwrap();
    for (database, fsync) in [(killable, "on"), (database(DatabaseLocale::C), "off")] {
        for (setting, value) in [
            ("fsync", fsync),
            ("synchronous_commit", "on"),
            ("full_page_writes", "on"),
            ("listen_addresses", ""),
            ("server_encoding", "UTF8"),
            ("max_connections", "200"),
        ] {
            assert_eq!(database.psql(&format!("SHOW {setting}")).unwrap(), value, "{setting}");
        }
    }
}

#[test]
fn a_database_is_empty_alone_and_dropped_with_its_value() {
    let (one, two) = (database(DatabaseLocale::C), database(DatabaseLocale::C));
    one.psql("CREATE TABLE t (n INT); INSERT INTO t VALUES (1), (2)").unwrap();
    assert_eq!(one.psql("SELECT n, n * 2 FROM t ORDER BY n").unwrap(), "1|2\n2|4");
    assert!(one.dump_schema().unwrap().contains("CREATE TABLE public.t"));
    assert_eq!(one.dump_schema().unwrap(), one.dump_schema().unwrap());

    let error = format!("{:#}", two.psql("SELECT 1; SELECT n FROM t; SELECT 2").unwrap_err());
    assert!(error.contains("relation \"t\" does not exist"), "{error}");
    assert!(!two.dump_schema().unwrap().contains("TABLE"));

    let name = one.name().to_owned();
    let exists = format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'");
    assert_eq!(two.psql(&exists).unwrap(), "1");
    drop(one);
    assert_eq!(two.psql(&exists).unwrap(), "0");
}

#[test]
fn the_url_names_the_socket_and_the_database() {
    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let host = server.socket_dir().to_str().unwrap().replace('/', "%2F");
    assert_eq!(
        database.url(),
        format!("postgres://palyra@/{}?host={host}&port={}", database.name(), server.port())
    );
}

#[test]
fn a_private_server_keeps_commits_through_stop_and_kill_and_vanishes_when_dropped() {
    let mut server = PostgresServer::start().unwrap();
    let dir = server.socket_dir().to_owned();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    database.psql("CREATE TABLE t (n INT)").unwrap();

    let stops: [fn(&mut PostgresServer) -> anyhow::Result<()>; 3] = [
        |server| server.stop(StopMode::Fast),
        |server| server.stop(StopMode::Immediate),
        PostgresServer::kill_dash_nine,
    ];
    let mut segments = Vec::new();
    for (count, stop) in stops.into_iter().enumerate() {
        assert_eq!(database.psql("SELECT count(*) FROM t").unwrap(), count.to_string());
        database.psql("INSERT INTO t VALUES (1)").unwrap();
        segments.push(shared_memory_segment(&dir));
        stop(&mut server).unwrap();
        database.psql("SELECT 1").unwrap_err();
        server.start_again().unwrap();
    }
    assert_eq!(database.psql("SELECT count(*) FROM t").unwrap(), "3");

    drop(server);
    assert!(dir.exists(), "a database keeps its server");
    drop(database);
    assert!(!dir.exists(), "{} is left behind", dir.display());
    assert!(!segments.iter().any(|id| is_listed(id)), "one of {segments:?} is left behind");
    assert!(!any_process_in(&dir), "a process of {} is left behind", dir.display());
}

#[test]
fn a_killed_server_that_is_not_started_again_leaves_nothing() {
    let mut server = PostgresServer::start().unwrap();
    let dir = server.socket_dir().to_owned();
    let segment = shared_memory_segment(&dir);
    assert!(is_listed(&segment));
    let database = server.create_database(DatabaseLocale::C).unwrap();
    // A backend that computes does not notice the death of its server.
    let endless = "SELECT count(*) FROM generate_series(1, 1e12)";
    let find = format!("SELECT pid FROM pg_stat_activity WHERE query LIKE '{endless}%'");
    std::thread::scope(|scope| {
        scope.spawn(|| database.psql(endless).unwrap_err());
        let found = || database.psql(&find).unwrap();
        assert!(eventually(|| !found().is_empty()));
        let busy = found();
        server.kill_dash_nine().unwrap();
        assert!(!is_alive(&busy), "backend {busy} survives");
    });
    assert!(is_listed(&segment), "the kill spared a process, which cleaned up");
    let again = server.kill_dash_nine().unwrap_err().to_string();
    assert_eq!(again, "the server is not running");
    drop((server, database));
    assert!(!dir.exists());
    assert!(!is_listed(&segment), "segment {segment} is left behind");
}

/// The id of the server's System V segment, as its pid file has it.
fn shared_memory_segment(dir: &Path) -> String {
    let pid_file = std::fs::read_to_string(dir.join("data/postmaster.pid")).unwrap();
    pid_file.lines().nth(6).unwrap().split_whitespace().nth(1).unwrap().to_owned()
}

fn is_listed(segment: &str) -> bool {
    let table = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
    table.lines().any(|line| line.split_whitespace().nth(1) == Some(segment))
}
