use std::cell::Cell;

use super::*;

async fn is_told(answer: impl Future<Output = u8>, after: Duration) -> bool {
    let told = Cell::new(false);
    assert_eq!(told_when_slow(answer, after, || told.set(true)).await, 7);
    told.get()
}

#[test]
fn only_what_takes_long_is_told() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        assert!(!is_told(async { 7 }, Duration::from_secs(3_600)).await);
        let (send, receive) = tokio::sync::oneshot::channel::<u8>();
        let told = Cell::new(false);
        let say = || {
            told.set(true);
            send.send(7).unwrap();
        };
        let answer = async { receive.await.unwrap() };
        assert_eq!(told_when_slow(answer, Duration::from_millis(1), say).await, 7);
        assert!(told.get());
    });
}
