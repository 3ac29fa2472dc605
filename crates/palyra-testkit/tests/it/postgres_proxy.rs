use std::io::ErrorKind;
use std::os::unix::net::UnixStream;

use palyra_testkit::postgres::{
    CutCounts, CutKind, CutPlan, CutProxy, DatabaseLocale, PostgresServer, TestDatabase,
};
use palyra_testkit::seed::Seed;

use crate::postgres_client::{Client, bind, execute, prepare, query, sync};
use crate::world::{LONG, eventually};

const BOTH: [CutKind; 2] = [CutKind::BeforeForward, CutKind::AfterForward];

fn proxied(plan: CutPlan) -> (CutProxy, TestDatabase) {
    let server = PostgresServer::shared().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    database.psql("CREATE TABLE t (n INT)").unwrap();
    (CutProxy::start(server, plan).unwrap(), database)
}

fn rows(database: &TestDatabase) -> String {
    database.psql("SELECT coalesce(string_agg(n::text, ',' ORDER BY n), '') FROM t").unwrap()
}

/// What a client sees of a lost connection, as opposed to a refusal or a time-out.
#[track_caller]
fn is_lost<T: std::fmt::Debug>(result: std::io::Result<T>) {
    let kind = result.unwrap_err().kind();
    let lost = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
    assert!(lost.contains(&kind), "{kind:?}");
}

#[test]
fn without_a_plan_everything_passes_and_commits_are_counted() {
    let (proxy, database) = proxied(CutPlan::Never);
    let mut client = Client::connect(&proxy, &database).unwrap();
    for n in 0..10 {
        assert_eq!(client.simple("BEGIN").unwrap(), "BEGIN");
        client.extended(&format!("INSERT INTO t VALUES ({n})")).unwrap();
        assert_eq!(client.simple("commit").unwrap(), "COMMIT");
        assert_eq!(client.extended("SELECT 'COMMIT'").unwrap(), "SELECT 1");
        client.simple("BEGIN").unwrap();
        assert_eq!(client.extended("COMMIT").unwrap(), "COMMIT");
    }
    assert_eq!(rows(&database), "0,1,2,3,4,5,6,7,8,9");
    assert_eq!(proxy.counts(), CutCounts { commits: 20, ..CutCounts::default() });

    let large = "x".repeat(3 << 20);
    client.send(&[query(&format!("SELECT '{large}'"))]).unwrap();
    let answers = client.answers().unwrap();
    let row = answers.iter().find(|(kind, _)| *kind == b'D').unwrap();
    assert!(row.1.ends_with(large.as_bytes()));
}

#[test]
fn the_chosen_commit_is_lost_or_done_and_other_connections_live_on() {
    for kind in BOTH {
        for run in [Client::simple, Client::extended] {
            let (proxy, database) = proxied(CutPlan::AtCommit { nth: 2, kind });
            let mut client = Client::connect(&proxy, &database).unwrap();
            let mut other = Client::connect(&proxy, &database).unwrap();
            run(&mut client, "BEGIN").unwrap();
            run(&mut client, "INSERT INTO t VALUES (1)").unwrap();
            assert_eq!(run(&mut client, "COMMIT").unwrap(), "COMMIT");
            run(&mut client, "BEGIN").unwrap();
            run(&mut client, "INSERT INTO t VALUES (2)").unwrap();
            is_lost(run(&mut client, "COMMIT"));
            let (expected, before, after) = match kind {
                CutKind::BeforeForward => ("1", 1, 0),
                CutKind::AfterForward => ("1,2", 0, 1),
                CutKind::LateForward => unreachable!("not among both"),
            };
            assert_eq!(rows(&database), expected, "{kind:?}");
            let counts = proxy.counts();
            assert_eq!((counts.commits, counts.before_forward), (2, before));
            assert_eq!((counts.after_forward, counts.late_forward), (after, 0));

            run(&mut other, "BEGIN").unwrap();
            assert_eq!(run(&mut other, "COMMIT").unwrap(), "COMMIT");
            let mut again = Client::connect(&proxy, &database).unwrap();
            assert_eq!(run(&mut again, "SELECT 1").unwrap(), "SELECT 1");
        }
    }
}

#[test]
fn a_commit_that_was_prepared_long_before_is_seen() {
    for kind in BOTH {
        let (proxy, database) = proxied(CutPlan::AtCommit { nth: 2, kind });
        let mut client = Client::connect(&proxy, &database).unwrap();
        client.send(&[prepare("finish", "Commit"), sync()]).unwrap();
        client.answers().unwrap();
        let mut unit = |n| {
            client.simple(&format!("BEGIN; INSERT INTO t VALUES ({n})")).unwrap();
            client.send(&[bind("finish"), execute(), sync()]).unwrap();
            client.answers()
        };
        unit(1).unwrap();
        is_lost(unit(2));
        let expected = if kind == CutKind::AfterForward { "1,2" } else { "1" };
        assert_eq!(rows(&database), expected, "{kind:?}");
    }
}

#[test]
fn answers_to_earlier_requests_of_a_batch_still_arrive() {
    let kind = CutKind::AfterForward;
    let (proxy, database) = proxied(CutPlan::AtCommit { nth: 1, kind });
    let mut client = Client::connect(&proxy, &database).unwrap();
    let later = query("INSERT INTO t VALUES (2)");
    let batch = [query("BEGIN"), query("INSERT INTO t VALUES (1)"), query("COMMIT"), later];
    client.send(&batch).unwrap();
    client.answers().unwrap();
    client.answers().unwrap();
    is_lost(client.answers());
    assert_eq!(rows(&database), "1");
}

#[test]
fn the_cut_waits_for_a_slow_commit_after_answers_that_came_early() {
    let kind = CutKind::AfterForward;
    let (proxy, database) = proxied(CutPlan::AtCommit { nth: 1, kind });
    let slow_at_commit = "
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END';
        CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()";
    database.psql(slow_at_commit).unwrap();
    let mut client = Client::connect(&proxy, &database).unwrap();
    client.simple("BEGIN; INSERT INTO t VALUES (1)").unwrap();
    // More than the server holds back until the end of the batch.
    let early = prepare("", "SELECT repeat('x', 100000)");
    let batch = [early, bind(""), execute(), prepare("", "COMMIT"), bind(""), execute(), sync()];
    client.send(&batch).unwrap();
    is_lost(client.answers());
    assert_eq!(rows(&database), "1");
}

#[test]
fn random_cuts_of_concurrent_clients_add_up() {
    let seed = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap();
    let (proxy, database) = proxied(CutPlan::Never);
    proxy.set_plan(CutPlan::Random { seed, probability: 0.4 });
    let unit = |client: &mut Client, n: u32| {
        client.simple(&format!("BEGIN; INSERT INTO t VALUES ({n})"))?;
        client.simple("COMMIT")
    };
    let acknowledged: u64 = std::thread::scope(|scope| {
        let worker = |number: u32| {
            let (proxy, database) = (&proxy, &database);
            scope.spawn(move || {
                let mut client = Client::connect(proxy, database).unwrap();
                let mut acknowledged = 0;
                for n in 0..25 {
                    match unit(&mut client, number * 100 + n) {
                        Ok(_) => acknowledged += 1,
                        Err(_) => client = Client::connect(proxy, database).unwrap(),
                    }
                }
                acknowledged
            })
        };
        [1, 2, 3, 4].map(worker).into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let counts = proxy.wait_for_late(LONG).unwrap();
    assert_eq!(counts.commits, 100);
    let CutCounts { before_forward, after_forward, late_forward, .. } = counts;
    assert_eq!(acknowledged + before_forward + after_forward + late_forward, 100);
    assert!(before_forward > 0 && after_forward > 0 && late_forward > 0, "{counts:?}");
    let kept = acknowledged + after_forward + late_forward;
    assert_eq!(database.psql("SELECT count(*) FROM t").unwrap(), kept.to_string());
}

#[test]
fn a_late_commit_is_done_after_its_client_has_gone() {
    let (proxy, database) = proxied(CutPlan::AtCommit { nth: 1, kind: CutKind::LateForward });
    let mut client = Client::connect(&proxy, &database).unwrap();
    client.simple("BEGIN; INSERT INTO t VALUES (1)").unwrap();
    is_lost(client.simple("COMMIT"));
    let counts = proxy.wait_for_late(LONG).unwrap();
    assert_eq!((counts.late_forward, counts.late_ended), (1, 1));
    assert_eq!(rows(&database), "1");
}

#[test]
fn a_cancellation_passes() {
    let (proxy, database) = proxied(CutPlan::Never);
    let mut client = Client::connect(&proxy, &database).unwrap();
    let key = client.key();
    client.send(&[query("SELECT pg_sleep(1000)")]).unwrap();
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1000)' \
                    AND datname = current_database() AND pid <> pg_backend_pid()";
    assert!(eventually(|| database.psql(sleeping).unwrap() == "1"));
    Client::cancel(&proxy, &key).unwrap();
    let answers = client.answers().unwrap();
    let error = String::from_utf8_lossy(&answers.last().unwrap().1).into_owned();
    assert!(error.contains("57014"), "{error}");
}

#[test]
fn a_dropped_proxy_ends_its_connections_threads_and_directory() {
    let (proxy, database) = proxied(CutPlan::Never);
    let mut clients = [0; 3].map(|_| Client::connect(&proxy, &database).unwrap());
    clients[0].simple("SELECT 1").unwrap();
    let dir = proxy.socket_dir().to_owned();
    assert_eq!(threads_of(&proxy), 1 + 2 * 3, "one accepts, two serve each connection");
    let name = thread_name(&proxy);
    drop(proxy);
    assert!(eventually(|| threads_named(&name) == 0));
    for mut client in clients {
        is_lost(client.simple("SELECT 1"));
    }
    assert!(!dir.exists());
    let connected = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()";
    assert!(eventually(|| database.psql(connected).unwrap() == "1"));
}

#[test]
fn connections_are_bounded_and_those_that_end_make_room() {
    let server = PostgresServer::start().unwrap();
    let database = server.create_database(DatabaseLocale::C).unwrap();
    let proxy = CutProxy::start(&server, CutPlan::Never).unwrap();
    let mut held: Vec<_> = (0..200).map(|_| silent_connection(&proxy)).collect();
    is_lost(Client::connect(&proxy, &database).map(drop));
    assert!(eventually(|| threads_of(&proxy) == 1 + 2 * 200));
    held.truncate(100);
    assert!(eventually(|| Client::connect(&proxy, &database).is_ok()));
}

fn silent_connection(proxy: &CutProxy) -> UnixStream {
    let socket = proxy.socket_dir().join(format!(".s.PGSQL.{}", proxy.port()));
    UnixStream::connect(socket).unwrap()
}

/// The threads are named after the directory, as far as the kernel keeps names.
fn thread_name(proxy: &CutProxy) -> String {
    proxy.socket_dir().file_name().unwrap().to_str().unwrap().to_owned()
}

fn threads_of(proxy: &CutProxy) -> usize {
    threads_named(&thread_name(proxy))
}

fn threads_named(name: &str) -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = threads.filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}

#[test]
fn the_url_leads_through_the_proxy() {
    let (proxy, database) = proxied(CutPlan::Never);
    let host = proxy.socket_dir().to_str().unwrap().replace('/', "%2F");
    let expected = format!("{}?host={host}&port={}", database.name(), proxy.port());
    assert!(proxy.url(&database).ends_with(&expected), "{}", proxy.url(&database));
}
