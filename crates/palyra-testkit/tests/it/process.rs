use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use palyra_testkit::process::{
    Process, Stream, Termination, free_port, is_reexecuted, reexec_test,
};

use crate::world::{LONG, eventually, is_alive, value_of};

fn sh(script: &str) -> palyra_testkit::process::Builder {
    Process::builder("sh").args(["-c", script])
}

#[test]
fn everything_printed_before_the_kill_is_there_afterwards() {
    // Much is still in the pipe when the last line has been printed, so that a kill that does not
    // wait for it is seen to lose some.
    let script = "seq 20000; : >$PALYRA_DATA_DIR/done; exec sleep 1000";
    for _ in 0..5 {
        let mut process = sh(script).temporary_data_dir().unwrap().spawn().unwrap();
        let done = process.data_dir().unwrap().join("done");
        let deadline = Instant::now() + LONG;
        while !done.exists() {
            assert!(Instant::now() < deadline, "{}", process.logs());
        }
        let status = process.kill_dash_nine().unwrap();
        assert_eq!(status.signal(), Some(9));
        let lines = process.lines(Stream::Stdout).unwrap();
        assert!(
            lines.iter().map(String::as_str).eq((1..=20_000).map(|n| n.to_string())),
            "{} lines",
            lines.len()
        );
        assert_eq!(process.kill_dash_nine().unwrap(), status, "a second kill changes nothing");
    }
}

#[test]
fn what_the_process_started_dies_with_it() {
    let script = "sleep 1000 & echo grandchild=$!; wait";
    let mut process = sh(script).spawn().unwrap();
    let line = process.wait_for_line("grandchild=", LONG).unwrap();
    let killed = value_of("grandchild", &line).unwrap();
    assert!(is_alive(&killed));
    process.kill_dash_nine().unwrap();
    assert!(eventually(|| !is_alive(&killed)));

    let process = sh(script).spawn().unwrap();
    let line = process.wait_for_line("grandchild=", LONG).unwrap();
    let dropped = value_of("grandchild", &line).unwrap();
    drop(process);
    assert!(eventually(|| !is_alive(&dropped)));

    let mut process = sh("sleep 1000 >/dev/null 2>&1 & echo grandchild=$!").spawn().unwrap();
    let line = process.wait_for_line("grandchild=", LONG).unwrap();
    let orphan = value_of("grandchild", &line).unwrap();
    assert!(process.wait(LONG).unwrap().success());
    assert!(eventually(|| !is_alive(&orphan)));
}

#[test]
fn a_polite_process_may_finish_and_a_stubborn_one_is_killed() {
    let mut polite =
        sh("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done").spawn().unwrap();
    polite.wait_for_line("up", LONG).unwrap();
    let Termination::Orderly(status) = polite.terminate(LONG).unwrap() else {
        panic!("killed: {}", polite.logs())
    };
    assert_eq!(status.code(), Some(7));
    assert_eq!(polite.lines(Stream::Stdout).unwrap(), ["up", "bye"]);

    let mut stubborn = sh("trap '' TERM; echo up; while :; do sleep 0.01; done").spawn().unwrap();
    stubborn.wait_for_line("up", LONG).unwrap();
    let ended = stubborn.terminate(Duration::from_millis(200)).unwrap();
    assert_eq!(ended, Termination::Killed);
    assert_eq!(stubborn.try_wait().unwrap().and_then(|status| status.signal()), Some(9));
}

#[test]
fn a_restart_keeps_the_data_directory_and_waits_for_a_new_ready_line() {
    let script = "cd $PALYRA_DATA_DIR; echo x >>starts; sleep 0.1; echo ready $(wc -l <starts)
        echo to-stderr >&2; exec sleep 1000";
    let builder = sh(script).temporary_data_dir().unwrap().ready_line("ready");
    let mut process = builder.spawn().unwrap();
    assert_eq!(process.wait_ready(LONG).unwrap(), "ready 1");
    assert_eq!(process.try_wait().unwrap(), None);
    let first = process.id();
    process.restart().unwrap();
    assert_eq!(process.wait_ready(LONG).unwrap(), "ready 2");
    assert_ne!(process.id(), first);
    assert!(!is_alive(&first.to_string()));
    process.wait_for_line("to-stderr", LONG).unwrap();
    assert_eq!(process.lines(Stream::Stdout).unwrap(), ["ready 1", "ready 2"]);
    assert_eq!(process.lines(Stream::Stderr).unwrap().last().unwrap(), "to-stderr");

    let dir = process.data_dir().unwrap().to_owned();
    assert!(dir.join("starts").exists());
    let second = process.id().to_string();
    drop(process);
    assert!(!dir.exists() && !is_alive(&second));
}

#[test]
fn waiting_for_a_line_ends_early_with_the_process_and_in_time_without() {
    let begun = Instant::now();
    let process = sh("echo only this; echo and that >&2").spawn().unwrap();
    let error = format!("{:#}", process.wait_for_line("never", LONG).unwrap_err());
    assert!(begun.elapsed() < LONG / 2);
    for expected in ["\"never\"", "closed its output", "out | only this", "err | and that"] {
        assert!(error.contains(expected), "{expected} is not in: {error}");
    }

    let mut process = sh("exec sleep 1000").spawn().unwrap();
    let limit = Duration::from_millis(50);
    let error = format!("{:#}", process.wait_for_line("never", limit).unwrap_err());
    assert!(error.contains("nothing within 50ms"), "{error}");
    assert!(process.wait(limit).unwrap_err().to_string().contains("still runs after 50ms"));
}

#[test]
#[ignore = "a child process of the next test"]
fn failing_child() {
    if is_reexecuted() {
        let process = sh("echo last words").spawn().unwrap();
        process.wait_for_line("last words", LONG).unwrap();
        panic!("on purpose");
    }
}

#[test]
fn a_failing_test_shows_what_its_process_printed() {
    let mut test = reexec_test("process::failing_child").unwrap().spawn().unwrap();
    assert!(!test.wait(LONG).unwrap().success());
    test.wait_for_line("out | last words", LONG).unwrap();
}

#[test]
fn a_free_port_can_be_bound() {
    let port = free_port().unwrap();
    std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
}
