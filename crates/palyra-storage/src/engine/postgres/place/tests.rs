use std::time::{Duration, Instant};

use super::Seen;

#[test]
fn an_attempt_from_before_the_server_was_found_is_no_outage() {
    let (mut seen, start) = (Seen::default(), Instant::now());
    let after = |seconds| start + Duration::from_secs(seconds);
    assert!(seen.is_lost(start), "the first failure is told");
    assert!(!seen.is_lost(after(1)), "and told once");
    assert!(seen.is_found(after(2)));
    assert!(!seen.is_found(after(3)), "nothing was lost");
    assert!(!seen.is_lost(after(1)), "it began when the server was away");
    assert!(seen.is_lost(after(4)), "the server went away again");
}
