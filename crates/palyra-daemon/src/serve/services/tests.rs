#![allow(clippy::panic, reason = "a test may panic")]

use super::*;

#[tokio::test]
async fn the_first_that_ends_is_named_whether_it_returned_or_panicked() {
    for panics in [false, true] {
        let mut services = Services::default();
        services.spawn("lasting", std::future::pending());
        services.spawn("short", async move { assert!(!panics, "on purpose") });
        assert!(matches!(services.first_end().await, Failure::ServiceEnded("short")));
    }
}

#[tokio::test]
async fn a_panic_does_not_keep_the_others_from_being_waited_for() {
    let mut services = Services::default();
    let (ended, mut waited) = tokio::sync::mpsc::channel(1);
    services.spawn("panicking", async { panic!("on purpose") });
    services.spawn("orderly", async move { ended.send(()).await.unwrap() });
    services.all_end().await;
    assert!(waited.try_recv().is_ok());
}
