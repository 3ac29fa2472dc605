use super::*;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_full_room_is_told_once_a_minute() {
    let (room, now) = (Room::new("HTTP", "http.max_connections", 1), Instant::now());
    let told = |secs| room.tell(now + Duration::from_secs(secs));
    assert!(told(0) && !told(0) && !told(59) && told(60) && !told(119) && told(600));
}

#[tokio::test]
async fn it_is_told_when_somebody_waits_and_not_before() {
    let room = Room::new("HTTP", "http.max_connections", 1);
    let place = room.enter().await.unwrap();
    let told = || room.told_at.lock().unwrap().is_some();
    assert!(!told(), "the last place is no reason");
    tokio::select! {
        biased;
        _ = room.enter() => panic!("its place is taken"),
        () = std::future::ready(()) => {}
    }
    assert!(told());
    drop(place);
    room.enter().await.unwrap();
}

#[tokio::test]
async fn whoever_asks_nothing_is_wanted_only_while_all_places_are_taken() {
    let room = Room::new("HTTP", "http.max_connections", 1);
    let place = room.enter().await.unwrap();
    let mut wanted = Box::pin(place.is_wanted(Arc::default()));
    assert!(tokio::time::timeout(2 * GRACE, &mut wanted).await.is_err(), "nobody waits");
    tokio::select! {
        () = &mut wanted => {}
        _ = room.enter() => panic!("its place is taken"),
        () = tokio::time::sleep(LIMIT) => panic!("it keeps its place"),
    }
    drop(place);
    let next = room.enter().await.unwrap();
    let wanted = next.is_wanted(Arc::default());
    assert!(tokio::time::timeout(2 * GRACE, wanted).await.is_err(), "there is room again");
}

#[tokio::test]
async fn whoever_asks_is_not_wanted() {
    let room = Room::new("HTTP", "http.max_connections", 1);
    let place = room.enter().await.unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    let mut wanted = Box::pin(place.is_wanted(asked.clone()));
    // It has begun to look before it asks.
    assert!(tokio::time::timeout(Duration::ZERO, &mut wanted).await.is_err());
    asked.fetch_add(1, Ordering::Relaxed);
    let began = Instant::now();
    tokio::select! {
        () = &mut wanted => {}
        _ = room.enter() => panic!("its place is taken"),
    }
    assert!(began.elapsed() > GRACE, "a second look, a while after the first");
}
