//! Whatever an agent was told is answered once, wherever its daemon dies, and what it does to the
//! world it does once, unless a human says so. Answers are counted in the ledger of the echo
//! connector, changes in the files that they are made to.

pub(crate) mod rows;
mod talk;

use std::time::{Duration, Instant};

use palyra_gateway::Verdict;
use palyra_testkit::crash::CrashPlan;
use palyra_testkit::model_sim::{Fault, Gate, echo};
use palyra_testkit::seed::{Seed, rounds};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::agents::next;
use crate::channels_crash::world::{Engine, LEASE_TTL, name};
use crate::daemon::LIMIT;
use talk::{Kind, Talk};

/// The most that is said in one life.
const MOST_SAID: usize = 8;

/// Killed at random moments, while agents think, act, wait and answer.
fn killed_at_random(engine: Engine, longest: Duration, kills: u32) {
    let mut random = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let mut talk = Talk::new(engine);
    for _ in 0..kills {
        let mut daemon = talk.world.start(None);
        let after = random.duration(Duration::from_millis(5)..longest);
        std::thread::scope(|scope| {
            let process = Pid::from_raw(daemon.process.id().try_into().unwrap()).unwrap();
            scope.spawn(move || {
                std::thread::sleep(after);
                kill_process(process, Signal::KILL).unwrap();
            });
            for _ in 0..MOST_SAID {
                if !talk.say_next(&daemon) {
                    break;
                }
                std::thread::sleep(random.duration(Duration::ZERO..longest / 10));
                talk.decide_meanwhile(&daemon, &mut random);
            }
        });
        daemon.process.wait(LIMIT).unwrap();
        talk.decide_some(&mut random);
    }
    talk.settle(Verdict::Approve);
    let outcome = talk.check();
    println!("{kills} kills, {engine:?}: {} said, {outcome:?}", talk.world.handed_in);
    assert!(outcome.answered > 0 && outcome.yes > 0, "nothing was tried");
    assert!(outcome.changes > 0, "nothing was changed");
}

#[test]
fn crashes_at_random_leave_one_answer_to_each_message() {
    killed_at_random(Engine::Sqlite, Duration::from_millis(400), rounds(24, 400));
}

#[test]
fn postgres_keeps_runs_through_crashes_at_random() {
    // What a node had when it died waits until its lease is over.
    let longest = LEASE_TTL + Duration::from_secs(1);
    killed_at_random(Engine::Postgres, longest, rounds(6, 120));
}

/// Dies on both sides of a call that changes a file and has its yes: whether it was made is not known
/// then, so it is made again only after another one.
fn dies_around_a_call(engine: Engine, verdicts: &[Verdict]) {
    let mut talk = Talk::new(engine);
    for (boundary, done) in [("run.before_tools", 0), ("run.after_tools", 1)] {
        for verdict in verdicts {
            let name = name(talk.world.handed_in);
            let daemon = talk.world.start(None);
            assert!(talk.say(&daemon, Kind::Patch));
            talk.world.await_quiet(&daemon);
            talk.world.stop(daemon);
            assert_eq!(talk.decide(|| Some(Verdict::Approve)), 1, "{boundary}");
            let plan = CrashPlan::at(boundary);
            plan.expect_crash(&mut talk.world.begin_to_start(&plan), LIMIT).unwrap();
            assert_eq!(talk.changes(&name), done, "{boundary}");
            let daemon = talk.world.start(None);
            talk.world.await_quiet(&daemon);
            talk.world.stop(daemon);
            assert_eq!(talk.changes(&name), done, "{boundary}: made again, and nobody said so");
            assert_eq!(talk.decide(|| Some(*verdict)), 1, "{boundary}: nobody was asked");
            talk.settle(*verdict);
            let again = usize::from(*verdict == Verdict::Approve);
            assert_eq!(talk.changes(&name), done + again, "{boundary}, {verdict:?}");
        }
    }
    talk.check();
}

#[test]
fn a_crash_around_a_call_leaves_it_to_a_human() {
    dies_around_a_call(Engine::Sqlite, &[Verdict::Approve, Verdict::Deny]);
}

#[test]
fn postgres_leaves_a_call_to_a_human_after_a_crash_around_it() {
    dies_around_a_call(Engine::Postgres, &[Verdict::Approve]);
}

/// Killed while somebody watches, who comes back with the number of the last event seen.
fn watched_through_crashes(engine: Engine) {
    let mut random = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap().rng();
    let talk = Talk::new(engine);
    for _ in 0..rounds(3, 30) {
        let mut daemon = talk.world.start(None);
        let run = daemon.say(&daemon.begin(), &"a long question ".repeat(20));
        let path = format!("/admin/v1/runs/{run}/events");
        let mut seen = Vec::<(i64, String)>::new();
        // A run that is taken over more often, and never gets any further, is given up.
        for _ in 0..2 {
            let mut stream = daemon.stream(&path, seen.last().map(|(seq, _)| *seq));
            let events = usize::try_from(random.within(1..10)).unwrap();
            seen.extend(std::iter::from_fn(|| next(&mut stream)).take(events));
            daemon.process.kill_dash_nine().unwrap();
            // What was on its way arrives, or is lost with some of what had arrived.
            if random.within(0..2) == 0 {
                seen.extend(std::iter::from_fn(|| next(&mut stream)));
            } else {
                let kept = random.within(1..seen.len() as u64 + 1);
                seen.truncate(usize::try_from(kept).unwrap());
            }
            daemon = talk.world.start(None);
        }
        let mut stream = daemon.stream(&path, seen.last().map(|(seq, _)| *seq));
        seen.extend(std::iter::from_fn(|| next(&mut stream)));
        assert!(seen.is_sorted_by(|(one, _), (next, _)| one < next), "repeated: {seen:?}");
        let tape = daemon.get(&format!("/admin/v1/runs/{run}/tape"));
        let entry = |entry: &serde_json::Value| {
            (entry["seq"].as_i64().unwrap(), entry["kind"].as_str().unwrap().to_owned())
        };
        let mut tape: Vec<_> = tape["items"].as_array().unwrap().iter().map(entry).collect();
        // Pieces of an answer are there until it is there as a whole.
        for events in [&mut seen, &mut tape] {
            events.retain(|(_, kind)| *kind != "model.delta");
        }
        assert_eq!(seen, tape);
        assert_eq!(tape.last().unwrap().1, "run.finished");
        let replayed = daemon.get(&format!("/admin/v1/runs/{run}/replay"));
        assert_eq!(replayed["same"], true, "{replayed:#}");
        talk.world.stop(daemon);
    }
}

#[test]
fn whoever_watches_misses_nothing_through_crashes() {
    watched_through_crashes(Engine::Sqlite);
}

#[test]
fn postgres_shows_those_who_watch_everything_through_crashes() {
    watched_through_crashes(Engine::Postgres);
}

/// What one node was thinking about when it was killed, the other finishes.
#[test]
fn postgres_gives_the_runs_of_a_node_that_crashes_to_the_other() {
    let mut talk = Talk::shared_by(2);
    let mut nodes = [Some(talk.world.start_node(0, None)), Some(talk.world.start_node(1, None))];
    talk.world.configure(nodes[0].as_ref().unwrap());
    for round in 0..rounds(2, 20) as usize {
        let (dies, stays) = (round % 2, (round + 1) % 2);
        let shut = Gate::shut();
        talk.sim.rule(move |asked| echo(asked).with(Fault::Gated(shut.clone())));
        let (asked, left, said) = (talk.sim.asked().len(), talk.sim.left(), talk.world.handed_in);
        for kind in [Kind::Plain, Kind::Read, Kind::Plain] {
            assert!(talk.say(nodes[dies].as_ref().unwrap(), kind));
        }
        talk.sim.wait_for_asked(asked + 3, LIMIT).unwrap();
        nodes[dies].take().unwrap().process.kill_dash_nine().unwrap();
        let died = Instant::now();
        // It was the one that died that had asked.
        talk.sim.wait_for_left(left + 3, LIMIT).unwrap();
        talk.sim.rule(echo);
        let deadline = died + LIMIT;
        let answered = |number: u64| {
            let name = name(number);
            talk.world.ledger().iter().any(|line| line["operation"]["reply_to"] == name)
        };
        while !(said..talk.world.handed_in).all(answered) {
            assert!(Instant::now() < deadline, "node {stays} never answers");
            std::thread::sleep(Duration::from_millis(10));
        }
        let took = died.elapsed();
        println!("node {dies} killed, its runs ended on the other after {took:?}");
        nodes[dies] = Some(talk.world.start_node(dies, None));
    }
    nodes.into_iter().flatten().for_each(|node| talk.world.stop(node));
    let outcome = talk.check();
    assert_eq!(outcome.answered, talk.world.handed_in);
    keep_their_files_in_common(&talk);
}

/// What an agent has written on one node it reads on the other.
fn keep_their_files_in_common(talk: &Talk) {
    let writer = talk.world.start_node(0, None);
    let write = json!({ "path": "in-common.md", "content": "left by the first" });
    let run = writer.say(&writer.begin(), &format!("use fs.write {write}"));
    writer.until_run(&run, "waiting_for_approval");
    assert_eq!(writer.decide(&writer.question(), "approve").status, 200);
    writer.until_run(&run, "completed");
    talk.world.stop(writer);
    let reader = talk.world.start_node(1, None);
    let read = json!({ "path": "in-common.md" });
    let run = reader.say(&reader.begin(), &format!("use fs.read {read}"));
    reader.until_run(&run, "completed");
    assert!(reader.answer_of(&run).contains("left by the first"), "{}", reader.answer_of(&run));
    talk.world.stop(reader);
}
