//! Messages come in once and go out once, wherever the daemon dies. What has arrived is counted
//! outside of it, in the ledger of the echo connector.

mod world;

use std::time::{Duration, Instant};

use palyra_testkit::crash::CrashPlan;
use palyra_testkit::seed::{Seed, rounds};

use crate::daemon::{Daemon, LIMIT};
use world::{Engine, Platform, World};

/// Every boundary between deciding, writing down and acting.
const BOUNDARIES: [&str; 9] = [
    "inbound.before_commit",
    "inbound.after_commit",
    "outbox.after_attempt_commit",
    "outbox.before_send",
    "echo.before_accept",
    "echo.after_accept",
    "outbox.after_send",
    "outbox.before_settle_commit",
    "outbox.after_settle_commit",
];

/// Dies at `boundary`, is started again, and is asked again by whoever heard no answer.
fn dies_at(boundary: &str, engine: Engine, platform: Platform) {
    let mut world = World::new(engine, platform);
    let plan = CrashPlan::at(boundary).nth(2);
    let mut daemon = world.start(Some(&plan));
    let unheard = (0..200).find(|n| !world.hand_in(&daemon, *n));
    plan.expect_crash(&mut daemon.process, LIMIT).unwrap();
    let daemon = world.start(None);
    if let Some(n) = unheard {
        assert!(world.hand_in(&daemon, n), "{n}");
    }
    let counts = world.check(&daemon);
    println!("{boundary}, {engine:?}, {platform:?}: {counts:?}");
    assert!(counts.delivered > 0);
    world.stop(daemon);
}

#[test]
fn a_crash_at_any_boundary_loses_nothing_and_sends_nothing_twice() {
    for boundary in BOUNDARIES {
        dies_at(boundary, Engine::Sqlite, Platform::Deduplicates);
    }
}

#[test]
fn a_crash_at_any_boundary_leaves_no_silent_copy() {
    for boundary in BOUNDARIES {
        dies_at(boundary, Engine::Sqlite, Platform::TakesAll);
    }
}

/// Every third boundary, and all of them in `make chaos`: each death is noticed only when its lease
/// is over.
#[test]
fn postgres_keeps_what_is_between_the_boundaries_of_a_crash() {
    let platforms = [Platform::TakesAll, Platform::Deduplicates].into_iter().cycle();
    for (boundary, platform) in BOUNDARIES.into_iter().zip(platforms).step_by(rounds(3, 1) as usize)
    {
        dies_at(boundary, Engine::Postgres, platform);
    }
}

/// Killed at random moments under load.
fn killed_at_random(engine: Engine, platform: Platform, kills: u32) {
    let mut random = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let mut world = World::new(engine, platform);
    let mut next = 0;
    for _ in 0..kills {
        let mut daemon = world.start(None);
        let until =
            Instant::now() + random.duration(Duration::from_millis(10)..Duration::from_millis(200));
        // One that was not heard of is handed in again by the next life.
        while Instant::now() < until {
            if world.hand_in(&daemon, next) {
                next += 1;
            }
        }
        daemon.process.kill_dash_nine().unwrap();
    }
    let daemon = world.start(None);
    let counts = world.check(&daemon);
    let handed_in = world.handed_in.len();
    println!("{kills} kills, {engine:?}, {platform:?}: {handed_in} handed in, {counts:?}");
    world.stop(daemon);
}

#[test]
fn crashes_at_random_lose_nothing_and_send_nothing_twice() {
    killed_at_random(Engine::Sqlite, Platform::Deduplicates, rounds(30, 500));
}

#[test]
fn crashes_at_random_leave_no_silent_copy() {
    killed_at_random(Engine::Sqlite, Platform::TakesAll, rounds(30, 500));
}

#[test]
fn postgres_keeps_everything_through_crashes_at_random() {
    killed_at_random(Engine::Postgres, Platform::TakesAll, rounds(8, 250));
    killed_at_random(Engine::Postgres, Platform::Deduplicates, rounds(7, 250));
}

/// Whichever of two nodes sends, when it is killed the other one goes on as soon as its lease is
/// over, and nothing is lost or sent twice.
#[test]
fn postgres_is_shared_by_two_nodes_of_which_one_crashes() {
    let mut world = World::shared_by(2, Platform::TakesAll);
    let mut nodes = [Some(world.start_node(0, None)), Some(world.start_node(1, None))];
    world.configure(nodes[0].as_ref().unwrap(), "1s");
    let mut next = 0;
    for round in 0..rounds(3, 40) as usize {
        let hand_in = |world: &mut World, node: &Option<Daemon>, next: &mut u64| {
            for _ in 0..20 {
                assert!(world.hand_in(node.as_ref().unwrap(), *next));
                *next += 1;
            }
        };
        for node in &nodes {
            hand_in(&mut world, node, &mut next);
        }
        let (dies, stays) = (round % 2, (round + 1) % 2);
        nodes[dies].take().unwrap().process.kill_dash_nine().unwrap();
        hand_in(&mut world, &nodes[stays], &mut next);
        let counts = world.check(nodes[stays].as_ref().unwrap());
        println!("node {dies} killed: {} handed in, {counts:?}", world.handed_in.len());
        nodes[dies] = Some(world.start_node(dies, None));
    }
    nodes.into_iter().flatten().for_each(|node| world.stop(node));
}
