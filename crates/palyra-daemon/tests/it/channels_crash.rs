//! Messages come in once and go out once, wherever the daemon dies. What has arrived is counted
//! outside of it, in the ledger of the echo connector.

mod sent;
mod undecided;
pub(crate) mod world;

use std::time::{Duration, Instant};

use palyra_testkit::crash::CrashPlan;
use palyra_testkit::seed::{Seed, rounds};
use rustix::process::{Pid, Signal, kill_process};

use crate::daemon::{Daemon, LIMIT};
use crate::runs_crash::rows::Rows;
use world::{Answers, CONVERSATIONS, ECHO, Engine, LEASE_TTL, Memory, Platform, World};

/// How a daemon comes to a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A message is answered.
    Answer,
    /// The answer to a message that went out was lost, and the platform is asked.
    Doubt,
    /// It is started after one that died in mid-send.
    Restart,
    /// It is started when a message waits that nobody could decide about.
    Decide,
    /// The run that answers a message is written down for the so manieth time.
    Run(u64),
}

/// The commit of a run that ends it and puts its answer into the queue: after the one that begins
/// with the question to the model.
const LAST_OF_RUN: u64 = 2;

/// Every boundary between deciding, writing down and acting.
const BOUNDARIES: [(&str, Way); 23] = [
    ("inbound.before_commit", Way::Answer),
    ("inbound.after_commit", Way::Answer),
    ("inbound.before_decide_commit", Way::Decide),
    ("inbound.after_decide_commit", Way::Decide),
    ("run.before_commit", Way::Run(1)),
    ("run.after_commit", Way::Run(1)),
    ("run.before_model", Way::Answer),
    ("run.before_commit", Way::Run(LAST_OF_RUN)),
    ("run.after_commit", Way::Run(LAST_OF_RUN)),
    ("outbox.before_attempt_commit", Way::Answer),
    ("outbox.after_attempt_commit", Way::Answer),
    ("outbox.before_send", Way::Answer),
    ("echo.before_accept", Way::Answer),
    ("echo.after_accept", Way::Answer),
    ("outbox.after_send", Way::Answer),
    ("outbox.before_settle_commit", Way::Answer),
    ("outbox.after_settle_commit", Way::Answer),
    ("outbox.before_reconciled_commit", Way::Doubt),
    ("outbox.after_reconciled_commit", Way::Doubt),
    ("outbox.before_recover_own_commit", Way::Restart),
    ("outbox.after_recover_own_commit", Way::Restart),
    ("outbox.before_recover_commit", Way::Restart),
    ("outbox.after_recover_commit", Way::Restart),
];

/// Those that come after the platform was asked to do something.
const BEHIND_THE_REQUEST: [&str; 7] = [
    "echo.before_accept",
    "echo.after_accept",
    "outbox.after_send",
    "outbox.before_settle_commit",
    "outbox.after_settle_commit",
    "outbox.before_reconciled_commit",
    "outbox.after_reconciled_commit",
];

const PLATFORMS: [Platform; 5] = [
    Platform::new(Memory::Deduplicates, Answers::Arrive),
    Platform::new(Memory::TakesAll, Answers::Arrive),
    Platform::new(Memory::Deduplicates, Answers::GetLost),
    Platform::new(Memory::TakesAll, Answers::GetLost),
    Platform::new(Memory::TellsHistory, Answers::GetLost),
];

/// Whether a life with this platform comes to the boundary. Where the same message twice is one, it
/// is sent again instead of asked for.
fn is_reached(way: Way, platform: Platform) -> bool {
    match (way, platform.memory, platform.answers) {
        (Way::Answer | Way::Restart | Way::Decide | Way::Run(_), ..)
        | (Way::Doubt, Memory::TellsHistory | Memory::TakesAll, Answers::GetLost) => true,
        (Way::Doubt, _, Answers::Arrive) | (Way::Doubt, Memory::Deduplicates, _) => false,
    }
}

/// Dies at `boundary`, is started again, and is asked again by whoever heard no answer.
fn dies_at((boundary, way): (&str, Way), world: &mut World) {
    let plan = CrashPlan::at(boundary);
    match way {
        Way::Answer | Way::Doubt => {
            // Where answers get lost, the first of a life is one of them.
            let plan = plan.nth(if world.platform.answers == Answers::GetLost { 1 } else { 2 });
            let mut daemon = world.start(Some(&plan));
            world.hand_in_until_it_dies(&daemon);
            plan.expect_crash(&mut daemon.process, LIMIT).unwrap();
        }
        Way::Restart => {
            let in_mid_send = CrashPlan::at("outbox.after_send");
            let mut daemon = world.start(Some(&in_mid_send));
            world.hand_in_until_it_dies(&daemon);
            in_mid_send.expect_crash(&mut daemon.process, LIMIT).unwrap();
            plan.expect_crash(&mut world.begin_to_start(&plan), LIMIT).unwrap();
        }
        Way::Decide => {
            world.hand_in_undecided();
            plan.expect_crash(&mut world.begin_to_start(&plan), LIMIT).unwrap();
        }
        Way::Run(nth) => {
            let plan = plan.nth(nth);
            let mut daemon = world.start(Some(&plan));
            // Alone, so that no other run is written down.
            world.hand_in(&daemon);
            plan.expect_crash(&mut daemon.process, LIMIT).unwrap();
            let has_ended = boundary == "run.after_commit" && nth == LAST_OF_RUN;
            let is_open = Rows::look(world.rows(), async |rows| rows.is_busy().await);
            assert_eq!(is_open, !has_ended, "another commit than it should be");
        }
    }
    let daemon = world.start(None);
    for _ in 0..3 {
        assert!(world.hand_in(&daemon));
    }
    let counts = world.check(&daemon);
    println!(
        "{boundary}, {way:?}, {:?}: {} handed in, {counts:?}",
        world.platform, world.handed_in
    );
    assert!(counts.delivered > 0);
    assert_eq!(counts.given_up, 0, "nothing dies more than twice here");
    world.stop(daemon);
    Rows::look(world.rows(), async |rows| rows.check_deliveries().await);
}

/// At all of them that there are for this platform, and `chosen`.
fn dies_at_all(platform: Platform, chosen: impl Fn(&str) -> bool) {
    let mut world = World::new(Engine::Sqlite, platform);
    for (boundary, way) in BOUNDARIES {
        if is_reached(way, platform) && chosen(boundary) {
            dies_at((boundary, way), &mut world);
        }
    }
}

#[test]
fn a_crash_at_any_boundary_loses_nothing_and_sends_nothing_twice() {
    dies_at_all(Platform::new(Memory::Deduplicates, Answers::Arrive), |_| true);
}

#[test]
fn a_crash_at_any_boundary_leaves_no_silent_copy() {
    dies_at_all(Platform::new(Memory::TakesAll, Answers::Arrive), |_| true);
}

/// What comes before the request is the same whatever becomes of its answer.
#[test]
fn a_crash_beside_a_lost_answer_is_no_second_doubt() {
    for platform in PLATFORMS {
        if platform.answers == Answers::GetLost {
            let all = rounds(0, 1) == 1;
            dies_at_all(platform, |boundary| all || BEHIND_THE_REQUEST.contains(&boundary));
        }
    }
}

/// Some boundaries, and all of them in `make chaos`: each death is noticed only when its lease is over.
#[test]
fn postgres_keeps_what_is_between_the_boundaries_of_a_crash() {
    let pairs = BOUNDARIES.into_iter().enumerate().flat_map(|(n, boundary)| {
        // In `make test` each meets another platform.
        let all = rounds(0, 1) == 1;
        let platforms = PLATFORMS.into_iter().filter(move |of| is_reached(boundary.1, *of));
        let platforms: Vec<_> = platforms.collect();
        let mine = platforms[n % platforms.len()];
        platforms.into_iter().filter(move |of| all || *of == mine).map(move |of| (boundary, of))
    });
    for (boundary, platform) in pairs.step_by(rounds(6, 1) as usize) {
        dies_at(boundary, &mut World::new(Engine::Postgres, platform));
    }
}

/// Killed at random moments under load.
fn killed_at_random(engine: Engine, platform: Platform, kills: u32) {
    let mut random = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let mut world = World::new(engine, platform);
    for _ in 0..kills {
        let mut daemon = world.start(None);
        if engine == Engine::Postgres {
            // It sends nothing before the lease of the one before it is over.
            let before = world.arrived().len();
            let limit = Instant::now() + LIMIT;
            // Not more than it sends in a life: what is left of hundreds of them takes hours.
            (0..10).for_each(|_| _ = world.hand_in(&daemon));
            while world.arrived().len() <= before {
                assert!(Instant::now() < limit, "it sends nothing: {}", daemon.get(ECHO));
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let after = random.duration(Duration::from_millis(10)..Duration::from_millis(200));
        // In the middle of whatever: also of a request, which the next life then gets again.
        std::thread::scope(|scope| {
            let process = Pid::from_raw(daemon.process.id().try_into().unwrap()).unwrap();
            scope.spawn(move || {
                std::thread::sleep(after);
                kill_process(process, Signal::KILL).unwrap();
            });
            while world.hand_in(&daemon) {}
        });
        daemon.process.wait(LIMIT).unwrap();
    }
    let daemon = world.start(None);
    let counts = world.check(&daemon);
    let handed_in = world.handed_in;
    println!("{kills} kills, {engine:?}, {platform:?}: {handed_in} handed in, {counts:?}");
    assert!(handed_in > 0 && counts.delivered > 0, "nothing was tried");
    if platform.answers == Answers::Arrive {
        let under_way = u64::from(kills) * CONVERSATIONS;
        assert!(counts.unknown <= under_way, "more is in doubt than was under way");
    }
    world.stop(daemon);
}

/// Half of them beside answers that get lost.
fn killed_at_random_with(memory: Memory, kills: u32) {
    killed_at_random(Engine::Sqlite, Platform::new(memory, Answers::Arrive), kills / 2);
    killed_at_random(Engine::Sqlite, Platform::new(memory, Answers::GetLost), kills - kills / 2);
}

#[test]
fn crashes_at_random_lose_nothing_and_send_nothing_twice() {
    killed_at_random_with(Memory::Deduplicates, rounds(30, 500));
}

#[test]
fn crashes_at_random_leave_no_silent_copy() {
    killed_at_random_with(Memory::TakesAll, rounds(30, 500));
}

#[test]
fn crashes_at_random_leave_no_doubt_where_the_platform_can_be_asked() {
    killed_at_random_with(Memory::TellsHistory, rounds(10, 250));
}

#[test]
fn postgres_keeps_everything_through_crashes_at_random() {
    for memory in [Memory::TakesAll, Memory::Deduplicates] {
        let platform = Platform::new(memory, Answers::GetLost);
        killed_at_random(Engine::Postgres, platform, rounds(2, 250));
    }
}

/// Whichever of two nodes sends, when it is killed the other one goes on as soon as its lease is
/// over, and nothing is lost or sent twice.
#[test]
fn postgres_is_shared_by_two_nodes_of_which_one_crashes() {
    let mut world = World::shared_by(2, Platform::new(Memory::TakesAll, Answers::Arrive));
    let mut nodes = [Some(world.start_node(0, None)), Some(world.start_node(1, None))];
    world.configure(nodes[0].as_ref().unwrap());
    for round in 0..rounds(3, 40) as usize {
        let hand_in = |world: &mut World, node: &Option<Daemon>| {
            for _ in 0..20 {
                assert!(world.hand_in(node.as_ref().unwrap()));
            }
        };
        for node in &nodes {
            hand_in(&mut world, node);
        }
        let (dies, stays) = (round % 2, (round + 1) % 2);
        nodes[dies].take().unwrap().process.kill_dash_nine().unwrap();
        let died = Instant::now();
        let free = format!("free{round}");
        assert!(world.hand_in_to(nodes[stays].as_ref().unwrap(), &free));
        world.await_last_answer();
        let took = died.elapsed();
        // Beyond the lease and its renewal there is what a slow machine may take, and no more.
        let bound = LEASE_TTL + LEASE_TTL / 3 + Duration::from_secs(10);
        assert!(took < bound, "taken over after {took:?}");
        hand_in(&mut world, &nodes[stays]);
        let counts = world.check(nodes[stays].as_ref().unwrap());
        println!(
            "node {dies} killed, taken over after {took:?} with a lease of {LEASE_TTL:?}: {} \
             handed in, {counts:?}",
            world.handed_in
        );
        nodes[dies] = Some(world.start_node(dies, None));
    }
    nodes.into_iter().flatten().for_each(|node| world.stop(node));
}
