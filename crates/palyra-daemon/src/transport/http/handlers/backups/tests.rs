use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::StreamExt;

use super::*;

#[tokio::test]
async fn whoever_is_revoked_gets_no_more() {
    let (pieces, body) = mpsc::channel(WAITING_PIECES);
    let revoked = AtomicBool::new(false);
    let may_go_on =
        || async { if revoked.load(Ordering::SeqCst) { Err(AuthError::Revoked) } else { Ok(()) } };
    let mut stream = std::pin::pin!(pieces_while(body, Duration::ZERO, may_go_on));
    for _ in 0..3 {
        pieces.send(Ok(Bytes::from_static(b"piece"))).await.unwrap();
        assert_eq!(stream.next().await.unwrap().unwrap(), "piece");
    }
    revoked.store(true, Ordering::SeqCst);
    pieces.send(Ok(Bytes::from_static(b"piece"))).await.unwrap();
    assert!(stream.next().await.unwrap().is_err(), "it breaks off");
}

#[tokio::test]
async fn it_is_not_looked_for_each_piece() {
    let (pieces, body) = mpsc::channel(WAITING_PIECES);
    let looks = AtomicUsize::new(0);
    let may_go_on = || async {
        looks.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    let mut stream = std::pin::pin!(pieces_while(body, Duration::MAX, may_go_on));
    for _ in 0..3 {
        pieces.send(Ok(Bytes::from_static(b"piece"))).await.unwrap();
        stream.next().await.unwrap().unwrap();
    }
    drop(pieces);
    assert!(stream.next().await.is_none());
    assert_eq!(looks.load(Ordering::SeqCst), 0);
}
