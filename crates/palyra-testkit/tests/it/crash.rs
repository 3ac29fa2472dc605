use palyra_testkit::crash::CrashPlan;
use palyra_testkit::process::{Process, Stream};

use crate::world::LONG;

/// Runs a shell script that plays a program with crash points, and returns the verdict on it.
fn verdict(script: &str) -> Result<(), String> {
    let plan = CrashPlan::at("outbox.after_commit").nth(3);
    let builder = Process::builder("sh").args(["-c", script]).crash(&plan);
    let mut process = builder.spawn().unwrap();
    plan.expect_crash(&mut process, LONG).map_err(|error| format!("{error:#}"))
}

#[test]
fn a_crash_at_the_point_is_recognised() {
    verdict("echo 'crash point outbox.after_commit reached' >&2; kill -ABRT $$").unwrap();
}

#[test]
fn any_other_end_is_refused_with_the_output() {
    for script in [
        "echo 'crash point outbox.after_commit reached' >&2; exit 0",
        "echo 'crash point outbox.after_commit reached' >&2; kill -KILL $$",
        "echo 'crash point outbox.after_commit reached'; kill -ABRT $$",
        "echo 'crash point outbox.after_commit_2 reached' >&2; kill -ABRT $$",
        "echo 'crash point inbox reached' >&2; kill -ABRT $$",
    ] {
        let error = verdict(script).unwrap_err();
        assert!(error.contains("expected a crash at outbox.after_commit:3"), "{script}: {error}");
        assert!(error.contains("reached"), "{script}: {error}");
    }
}

#[test]
fn the_plan_reaches_the_process_and_a_restart_can_do_without() {
    let plan = CrashPlan::at("a.b");
    let show = ["-c", "echo armed=$PALYRA_CRASH_POINT"];
    let mut process = Process::builder("sh").args(show).crash(&plan).spawn().unwrap();
    process.wait(LONG).unwrap();
    process.restart_with(|builder| builder.crash(&plan.clone().nth(7))).unwrap();
    process.wait(LONG).unwrap();
    process.restart_with(palyra_testkit::process::Builder::without_crash).unwrap();
    process.wait(LONG).unwrap();
    assert_eq!(process.lines(Stream::Stdout).unwrap(), ["armed=a.b:1", "armed=a.b:7", "armed="]);
}
