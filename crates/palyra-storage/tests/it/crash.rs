//! Processes that write are killed at random moments, on both engines, and everything that they
//! were told is kept is there.

mod audit;
mod child;

use std::time::Duration;

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
        .env("PALYRA_STORAGE_URL", &world.options.config.url)
}

/// Lets a writer work and die, by our hand or at one of `points`.
fn live_and_die(writer: Builder, points: &[&str], rng: &mut Rng) -> Process {
    if rng.chance(0.5) {
        let mut process = writer.spawn().unwrap();
        process.wait_for_line("ack ", LIMIT).unwrap();
        std::thread::sleep(rng.duration(Duration::ZERO..Duration::from_millis(300)));
        process.kill_dash_nine().unwrap();
        process
    } else {
        let point = points[rng.within(0..points.len() as u64) as usize];
        let plan = CrashPlan::at(point).nth(rng.within(1..80));
        let mut process = writer.crash(&plan).spawn().unwrap();
        plan.expect_crash(&mut process, LIMIT).unwrap();
        process
    }
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
    let rounds = rounds(30, 300);
    for round in 0..rounds {
        let process = live_and_die(writer(&world), &SQLITE_POINTS, &mut rng);
        audit.acknowledged(acknowledged(&process));
        let db = palyra_storage::Database::open(world.options.clone()).await.unwrap();
        audit.check(&db, &format!("round {round}")).await;
        db.close().await;
    }
    println!("sqlite: {rounds} kills, {audit}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_of_writers_on_postgres_loses_nothing() {
    let mut rng = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let world = World::postgres(DatabaseLocale::C).await;
    child::create_tables(&world.db).await;
    let mut audit = Audit::default();
    let rounds = rounds(30, 300);
    // Another node is always there and wants the same lease.
    let mut other = writer(&world).spawn().unwrap();
    for round in 0..rounds {
        let process = live_and_die(writer(&world), &POSTGRES_POINTS, &mut rng);
        audit.acknowledged(acknowledged(&process));
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
    println!("postgres: {rounds} kills, {audit}");
}

/// A node that sleeps through the end of its lease and wakes up believing that it holds it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_time_a_stopped_holder_cannot_commit_under_its_old_token() {
    let mut rng = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let world = World::postgres(DatabaseLocale::C).await;
    child::create_tables(&world.db).await;
    let mut nodes = [writer(&world).spawn().unwrap(), writer(&world).spawn().unwrap()];
    nodes[0].wait_for_line("ack ", LIMIT).unwrap();
    nodes[1].wait_for_line("ack ", LIMIT).unwrap();
    for _ in 0..rounds(4, 60) {
        let node = &nodes[rng.within(0..2) as usize];
        let id = rustix::process::Pid::from_raw(i32::try_from(node.id()).unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
        // Longer than the lease of the children, and at a moment of their choosing.
        std::thread::sleep(rng.duration(child::LEASE..child::LEASE * 2));
        rustix::process::kill_process(id, rustix::process::Signal::CONT).unwrap();
        std::thread::sleep(rng.duration(Duration::ZERO..child::LEASE));
    }
    let mut audit = Audit::default();
    for node in &mut nodes {
        node.kill_dash_nine().unwrap();
        audit.acknowledged(acknowledged(node));
    }
    audit.check(&world.db, "end").await;
    let refused: usize = nodes
        .iter()
        .map(|node| {
            let lines = node.lines(Stream::Stdout).unwrap();
            lines.iter().filter(|line| line.starts_with("stale")).count()
        })
        .sum();
    println!("stopped holders: {refused} stale tokens refused, {audit}");
    assert!(refused > 0, "no holder ever woke up with a stale token");
}
