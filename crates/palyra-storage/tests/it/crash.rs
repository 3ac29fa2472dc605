//! Processes that write are killed at random moments, on both engines, and everything that they
//! were told is kept is there.

mod audit;
mod blobs;
mod child;

use std::time::Duration;

use palyra_storage::lease::{LeaseHolder, LeaseName, Leases};
use palyra_testkit::crash::CrashPlan;
use palyra_testkit::postgres::DatabaseLocale;
use palyra_testkit::process::{Builder, Process, Stream, reexec_test};
use palyra_testkit::seed::{Rng, Seed, rounds};

use crate::world::World;
use audit::Audit;

const LIMIT: Duration = Duration::from_secs(60);
/// Where a process may die by itself instead of being killed.
const SQLITE_POINTS: [&str; 3] =
    ["sqlite.before_commit", "sqlite.after_commit", "write.after_answer"];
const POSTGRES_POINTS: [&str; 3] =
    ["postgres.before_commit", "postgres.after_commit", "write.after_answer"];

fn writer(world: &World) -> Builder {
    reexec_test("crash::child::write_until_killed")
        .unwrap()
        .data_dir(world.folder.path())
        .env("PALYRA_STORAGE_URL", world.options.config.url.expose())
}

/// A round in which a process dies at one of the points, to so many in which it is killed.
const KILLS_PER_CRASH: u32 = 3;

/// Lets a writer work and kills it.
fn killed(writer: Builder, rng: &mut Rng) -> Process {
    let mut process = writer.spawn().unwrap();
    process.wait_for_line("ack ", LIMIT).unwrap();
    std::thread::sleep(rng.duration(Duration::ZERO..Duration::from_millis(300)));
    process.kill_dash_nine().unwrap();
    process
}

/// Lets a writer work until it dies by itself, at each of `points` in turn.
fn crashed(writer: Builder, points: &[&str], round: u32, rng: &mut Rng) -> Process {
    let point = points[(round / KILLS_PER_CRASH) as usize % points.len()];
    let plan = CrashPlan::at(point).nth(rng.within(1..80));
    let mut process = writer.crash(&plan).spawn().unwrap();
    plan.expect_crash(&mut process, LIMIT).unwrap();
    process
}

fn acknowledged(process: &Process) -> Vec<String> {
    let lines = process.lines(Stream::Stdout).unwrap();
    lines.iter().filter_map(|line| line.strip_prefix("ack ")).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_of_a_writer_on_sqlite_loses_nothing() {
    let mut rng = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let world = World::sqlite().await;
    child::create_tables(&world.db).await;
    world.db.close().await;
    let mut audit = Audit::default();
    let kills = rounds(30, 300);
    for round in 0..kills {
        audit.acknowledged(acknowledged(&killed(writer(&world), &mut rng)));
        if round.is_multiple_of(KILLS_PER_CRASH) {
            let process = crashed(writer(&world), &SQLITE_POINTS, round, &mut rng);
            audit.acknowledged(acknowledged(&process));
        }
        let db = palyra_storage::Database::open(world.options.clone()).await.unwrap();
        audit.check(&db, &format!("round {round}")).await;
        db.close().await;
    }
    println!("sqlite: {kills} kills, {audit}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_of_writers_on_postgres_loses_nothing() {
    let mut rng = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let world = World::postgres(DatabaseLocale::C).await;
    child::create_tables(&world.db).await;
    let mut audit = Audit::default();
    let kills = rounds(30, 300);
    // Another node is always there and wants the same lease.
    let mut other = writer(&world).spawn().unwrap();
    for round in 0..kills {
        audit.acknowledged(acknowledged(&killed(writer(&world), &mut rng)));
        if round.is_multiple_of(KILLS_PER_CRASH) {
            let process = crashed(writer(&world), &POSTGRES_POINTS, round, &mut rng);
            audit.acknowledged(acknowledged(&process));
        }
        if rng.chance(0.3) {
            other.kill_dash_nine().unwrap();
            audit.acknowledged(acknowledged(&other));
            other = writer(&world).spawn().unwrap();
        }
        audit.check(&world.db, &format!("round {round}")).await;
    }
    other.kill_dash_nine().unwrap();
    audit.acknowledged(acknowledged(&other));
    audit.check(&world.db, "end").await;
    println!("postgres: {kills} kills, {audit}");
}

/// Waits until `look` has an answer about the holder of the writers' lease.
async fn holder<T>(leases: &Leases, look: impl Fn(LeaseHolder) -> Option<T>) -> T {
    let name = LeaseName::new(child::LEASE_NAME);
    let found = async {
        loop {
            if let Some(found) = leases.holder(&name).await.unwrap().and_then(&look) {
                break found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, found).await.expect("the lease never had the expected holder")
}

fn signal(node: &Process, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(i32::try_from(node.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, signal).unwrap();
}

/// A node that sleeps through the end of its lease and wakes up believing that it holds it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_time_a_stopped_holder_cannot_commit_under_its_old_token() {
    let mut rng = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let world = World::postgres(DatabaseLocale::C).await;
    child::create_tables(&world.db).await;
    let leases = world.leases(&world.db);
    let keeper = || writer(&world).env(child::KEEP_VARIABLE, "1").spawn().unwrap();
    let mut nodes = [keeper(), keeper()].map(|node| {
        let name = node.wait_for_line("node ", LIMIT).unwrap();
        (name.rsplit(' ').next().unwrap().to_owned(), node)
    });
    for _ in 0..rounds(3, 60) {
        let known = |held: LeaseHolder| {
            let of_holder = |(name, _): &(String, Process)| *name == held.owner.to_string();
            Some((nodes.iter().position(of_holder)?, held.token))
        };
        let (stopped, token) = holder(&leases, known).await;
        let (node, other) = (&nodes[stopped].1, &nodes[1 - stopped].0);
        // In any part of its work.
        tokio::time::sleep(rng.duration(Duration::ZERO..child::LEASE)).await;
        signal(node, rustix::process::Signal::STOP);
        let taken = |held: LeaseHolder| (held.owner.to_string() == *other).then_some(held.token);
        assert!(holder(&leases, taken).await > token, "tokens only grow");
        signal(node, rustix::process::Signal::CONT);
        let stale = format!("stale {token}");
        node.wait_for(LIMIT, |line| (line.text == stale).then_some(())).unwrap();
    }
    let mut audit = Audit::default();
    for (_, node) in &mut nodes {
        node.kill_dash_nine().unwrap();
        audit.acknowledged(acknowledged(node));
    }
    audit.check(&world.db, "end").await;
    println!("stopped holders: {audit}");
}
