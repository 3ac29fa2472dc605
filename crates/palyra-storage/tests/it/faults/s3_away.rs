//! S3 that stumbles, refuses, and is not there.

use std::time::{Duration, Instant};

use bytes::Bytes;
use palyra_common::error::ErrorCode;
use palyra_common::time::Duration as Span;
use palyra_storage::blob::{BlobError, BlobId};
use palyra_testkit::s3::Fault;

use crate::shelf::{SECRET, Shelf, TOKEN};
use crate::world::World;

async fn shelf() -> Shelf {
    Shelf::on_s3(World::sqlite().await)
}

/// The requests so far by their method, once each name was seen to be in the part of the bucket.
fn methods(shelf: &mut Shelf) -> Vec<String> {
    let requests = shelf.s3().requests();
    let split = |request: &String| {
        let (method, target) = request.split_once(' ').unwrap();
        assert!(target.starts_with("/palyra/some/part/"), "{request}");
        method.to_owned()
    };
    requests.iter().map(split).collect()
}

/// What a user is told. It never holds a secret.
fn told(error: &BlobError) -> String {
    let (message, shown) = (error.envelope().message().to_owned(), format!("{error:?}"));
    for secret in [SECRET, TOKEN, "authorization"] {
        assert!(!message.contains(secret) && !shown.contains(secret), "{message} {shown}");
    }
    message
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stumble_is_not_noticed() {
    let mut shelf = shelf().await;
    shelf.s3().fail_next(2, Fault::SlowDown);
    let id = shelf.store.put(Bytes::from_static(b"steady")).await.unwrap();
    assert_eq!(methods(&mut shelf), ["PUT", "PUT", "PUT"]);
    shelf.s3().fail_next(2, Fault::InternalError);
    assert_eq!(shelf.store.get(&id).await.unwrap(), "steady");
    assert_eq!(methods(&mut shelf)[3..], ["GET", "GET", "GET"]);
    shelf.world.clock.advance(Span::from_hours(25));
    shelf.s3().fail_next(2, Fault::SlowDown);
    assert_eq!(shelf.store.collect(10).await.unwrap(), 1);
    assert_eq!(methods(&mut shelf)[6..], ["DELETE", "DELETE", "DELETE"]);
    assert!(shelf.objects().is_empty());
}

/// An object is named by its content, so doing it twice is doing it once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_was_lost_is_asked_for_again() {
    let mut shelf = shelf().await;
    shelf.s3().fail_next(1, Fault::DropAfterWork);
    let id = shelf.store.put(Bytes::from_static(b"once")).await.unwrap();
    assert_eq!(methods(&mut shelf), ["PUT", "PUT"]);
    assert_eq!(shelf.objects().len(), 1);
    assert_eq!(shelf.store.get(&id).await.unwrap(), "once");
    shelf.world.clock.advance(Span::from_hours(25));
    shelf.s3().fail_next(1, Fault::DropAfterWork);
    assert_eq!(shelf.store.collect(10).await.unwrap(), 1);
    assert_eq!(methods(&mut shelf)[3..], ["DELETE", "DELETE"]);
    assert_eq!((shelf.objects().len(), shelf.store.totals().await.unwrap()), (0, (0, 0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absent_service_is_told_in_time_and_its_return_is_enough() {
    let mut shelf = shelf().await;
    let before = shelf.store.put(Bytes::from_static(b"before")).await.unwrap();
    shelf.s3().go_away();
    let begun = Instant::now();
    let away = shelf.store.put(Bytes::from_static(b"during")).await.unwrap_err();
    assert_eq!(away.code(), ErrorCode::BlobUnavailable);
    assert!(told(&away).contains("Connection refused"), "{}", told(&away));
    let away = shelf.store.get(&before).await.unwrap_err();
    assert_eq!(away.code(), ErrorCode::BlobUnavailable, "absent is not damaged: {away:?}");
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    let during = BlobId::of(b"during");
    assert_eq!(shelf.store.size(&during).await.unwrap(), None, "it was not stored");

    shelf.s3().come_back().unwrap();
    assert_eq!(shelf.store.get(&before).await.unwrap(), "before");
    assert_eq!(shelf.store.put(Bytes::from_static(b"during")).await.unwrap(), during);
    assert_eq!(shelf.store.get(&during).await.unwrap(), "during");
    assert_eq!(shelf.objects().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_only_stumbles_is_given_up() {
    let mut shelf = shelf().await;
    shelf.s3().fail_next(1_000, Fault::SlowDown);
    let begun = Instant::now();
    let busy = shelf.store.put(Bytes::from_static(b"never")).await.unwrap_err();
    assert_eq!(busy.code(), ErrorCode::BlobUnavailable);
    assert!(told(&busy).contains("SlowDown"), "{}", told(&busy));
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    assert!(methods(&mut shelf).len() < 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_says_what_to_do_and_no_secret() {
    let mut shelf = shelf().await;
    let id = shelf.store.put(Bytes::from_static(b"mine")).await.unwrap();
    let stranger = shelf.as_key("WRONGKEY");
    let refused = [
        (stranger.put(Bytes::from_static(b"theirs")).await.unwrap_err(), "InvalidAccessKeyId"),
        (stranger.get(&id).await.unwrap_err(), "InvalidAccessKeyId"),
        (stranger.get_range(&id, 0..2).await.unwrap_err(), "InvalidAccessKeyId"),
    ];
    for (error, code) in refused {
        check_refusal(&error, code);
    }
    for (fault, code) in
        [(Fault::Forbidden, "SignatureDoesNotMatch"), (Fault::ExpiredToken, "ExpiredToken")]
    {
        shelf.s3().fail_next(1, fault);
        check_refusal(&shelf.store.get(&id).await.unwrap_err(), code);
    }
    assert_eq!(shelf.store.get(&id).await.unwrap(), "mine");
    let shown = format!("{:?}", shelf.store);
    assert!(!shown.contains(SECRET) && !shown.contains(TOKEN), "{shown}");
}

#[track_caller]
fn check_refusal(error: &BlobError, code: &str) {
    assert!(matches!(error, BlobError::Denied(_)), "{error:?}");
    assert_eq!(error.code(), ErrorCode::BlobUnavailable);
    let told = told(error);
    assert!(told.contains(code) && told.contains("check AWS_ACCESS_KEY_ID"), "{told}");
}

/// Else a wrong bucket would make every blob look damaged, and a collection would forget what it
/// did not delete.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_bucket_is_not_a_missing_object() {
    let mut shelf = shelf().await;
    let id = shelf.store.put(Bytes::from_static(b"there")).await.unwrap();
    shelf.s3().fail_next(1, Fault::NoSuchBucket);
    let wrong = shelf.store.get(&id).await.unwrap_err();
    assert_eq!(wrong.code(), ErrorCode::BlobUnavailable, "{wrong:?}");
    assert!(told(&wrong).contains("NoSuchBucket"), "{}", told(&wrong));
    shelf.world.clock.advance(Span::from_hours(25));
    shelf.s3().fail_next(1, Fault::NoSuchBucket);
    let wrong = shelf.store.collect(10).await.unwrap_err();
    assert_eq!(wrong.code(), ErrorCode::BlobUnavailable, "{wrong:?}");
    assert_eq!(shelf.objects().len(), 1);
    assert_eq!(shelf.store.collect(10).await.unwrap(), 1);
    assert!(shelf.objects().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_is_not_followed() {
    let mut shelf = shelf().await;
    let id = shelf.store.put(Bytes::from_static(b"stay")).await.unwrap();
    shelf.s3().fail_next(1, Fault::Redirect);
    let led_away = shelf.store.get(&id).await.unwrap_err();
    assert_eq!(led_away.code(), ErrorCode::BlobUnavailable, "{led_away:?}");
    assert_eq!(methods(&mut shelf), ["PUT", "GET"]);
}
