use palyra_testkit::process::{Builder, Process, Stream, is_reexecuted, reexec_test};
use palyra_testkit::seed::{Seed, rounds};

use crate::world::LONG;

#[test]
#[ignore = "a child process of the other tests"]
fn child() {
    if is_reexecuted() {
        let seed = Seed::from_env_or_random("PALYRA_TEST_SEED").unwrap();
        println!("value={} rounds={}", seed.value(), rounds(30, 300));
    }
}

fn run(change: impl FnOnce(Builder) -> Builder) -> Process {
    let plain = reexec_test("seed::child").unwrap();
    let plain = plain.env_remove("PALYRA_TEST_SEED").env_remove("PALYRA_CHAOS");
    let mut process = change(plain).spawn().unwrap();
    process.wait(LONG).unwrap();
    process
}

#[test]
fn a_given_seed_is_taken_and_printed() {
    let process = run(|builder| builder.env("PALYRA_TEST_SEED", "42").env("PALYRA_CHAOS", "0"));
    assert_eq!(process.wait_for_line("value=", LONG).unwrap(), "value=42 rounds=30");
    assert!(
        process.lines(Stream::Stderr).unwrap().contains(&"seed: PALYRA_TEST_SEED=42".to_owned())
    );
}

#[test]
fn without_one_each_run_has_its_own_and_prints_how_to_repeat_it() {
    let printed = || {
        let process = run(|builder| builder.env("PALYRA_CHAOS", "1"));
        let value = process.wait_for_line("rounds=300", LONG).unwrap();
        let seed = process.wait_for_line("seed: PALYRA_TEST_SEED=", LONG).unwrap();
        let seed = seed.rsplit_once('=').unwrap().1.to_owned();
        assert!(value.contains(&format!("value={seed} ")), "{value} {seed}");
        seed
    };
    assert_ne!(printed(), printed());
}

#[test]
fn a_seed_that_is_no_number_is_an_error() {
    let process = run(|builder| builder.env("PALYRA_TEST_SEED", "many"));
    process.wait_for_line("read the seed in PALYRA_TEST_SEED", LONG).unwrap();
}
