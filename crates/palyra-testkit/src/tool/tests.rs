use std::process::Command;
use std::time::{Duration, Instant};

use super::run;

fn sh(script: &str, input: &str, limit: Duration) -> anyhow::Result<String> {
    run(Command::new("sh").args(["-c", script]), input, limit)
}

#[test]
fn input_larger_than_a_pipe_goes_in_and_comes_out() {
    let input = "0123456789abcdef".repeat(64 * 1024);
    assert_eq!(sh("cat", &input, Duration::from_secs(20)).unwrap(), input);
}

#[test]
fn a_failure_carries_what_the_program_said() {
    let error = sh("echo so sorry >&2; exit 3", "", Duration::from_secs(20)).unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("so sorry") && text.contains('3'), "{text}");
}

#[test]
fn a_program_that_hangs_is_killed_at_the_limit() {
    let begun = Instant::now();
    let error = sh("echo waiting >&2; exec sleep 60", "", Duration::from_millis(200)).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(20));
    let text = format!("{error:#}");
    assert!(text.contains("not done after 200ms") && text.contains("waiting"), "{text}");
}
