//! Content is stored once, stays as long as somebody holds it, and goes a day after.

use bytes::Bytes;
use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::blob::{BlobError, BlobId, BlobStore};
use tokio::task::JoinSet;

use crate::world::{World, on_every_engine};

on_every_engine!(
    content_comes_back,
    the_same_content_is_stored_once,
    what_is_held_stays_and_what_is_not_goes,
    what_is_put_again_while_it_goes_stays,
    damage_is_noticed_and_mended_by_putting_again,
    a_blob_that_is_gone_cannot_be_held,
);

fn store(world: &World) -> BlobStore {
    let folder = world.folder.path().join("blobs");
    BlobStore::in_folder(world.db.clone(), world.clock(), &folder).unwrap()
}

async fn hold(world: &World, id: &BlobId, holder: &'static str) -> Result<(), BlobError> {
    let (id, now) = (id.clone(), world.clock().now());
    world.db.try_write(move |tx| BlobStore::hold(tx, &id, holder, now)).await
}

async fn let_go(world: &World, id: &BlobId, holder: &'static str) {
    let (id, now) = (id.clone(), world.clock().now());
    world.db.try_write(move |tx| BlobStore::let_go(tx, &id, holder, now)).await.unwrap();
}

fn files(world: &World) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![world.folder.path().join("blobs")];
    while let Some(folder) = folders.pop() {
        for item in std::fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

async fn content_comes_back(world: World) {
    let store = store(&world);
    for size in [0, 1, 100_000] {
        let content = Bytes::from(vec![b'x'; size]);
        let id = store.put(content.clone()).await.unwrap();
        assert_eq!(store.get(&id).await.unwrap(), content);
        assert_eq!(store.size(&id).await.unwrap(), Some(size as u64));
        assert_eq!(id.as_str().parse::<BlobId>().unwrap(), id);
    }
    let id = store.put(Bytes::from_static(b"0123456789")).await.unwrap();
    assert_eq!(store.get_range(&id, 2..5).await.unwrap(), "234");
    assert_eq!(store.get_range(&id, 8..99).await.unwrap(), "89");
    assert_eq!(store.get_range(&id, 50..99).await.unwrap(), "");
    assert_eq!(store.totals().await.unwrap(), (4, 100_011));
    let missing = store.get(&BlobId::of(b"never put")).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::BlobNotFound);
    for wrong in ["", "xyz", &"A".repeat(64), &"a".repeat(63)] {
        assert!(wrong.parse::<BlobId>().is_err(), "{wrong}");
    }
}

async fn the_same_content_is_stored_once(world: World) {
    let store = store(&world);
    let mut callers = JoinSet::new();
    for _ in 0..20 {
        let store = store.clone();
        callers.spawn(async move { store.put(Bytes::from_static(b"same")).await.unwrap() });
    }
    let ids = callers.join_all().await;
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!((store.totals().await.unwrap(), files(&world).len()), ((1, 4), 1));
    assert_eq!(store.get(&ids[0]).await.unwrap(), "same");
}

async fn what_is_held_stays_and_what_is_not_goes(world: World) {
    let store = store(&world);
    let held = store.put(Bytes::from_static(b"held")).await.unwrap();
    let loose = store.put(Bytes::from_static(b"loose")).await.unwrap();
    hold(&world, &held, "message:1").await.unwrap();
    hold(&world, &held, "message:1").await.unwrap();
    hold(&world, &held, "message:2").await.unwrap();
    world.clock.advance(Duration::from_hours(23));
    assert_eq!(store.collect(10).await.unwrap(), 0);
    world.clock.advance(Duration::from_hours(2));
    assert_eq!(store.collect(10).await.unwrap(), 1);
    assert_eq!(store.get(&loose).await.unwrap_err().code(), ErrorCode::BlobNotFound);
    assert_eq!(files(&world).len(), 1);

    let_go(&world, &held, "message:1").await;
    let_go(&world, &held, "message:1").await;
    world.clock.advance(Duration::from_hours(25));
    assert_eq!(store.collect(10).await.unwrap(), 0, "message:2 still holds it");
    let_go(&world, &held, "message:2").await;
    assert_eq!(store.collect(10).await.unwrap(), 0, "a day has not passed");
    world.clock.advance(Duration::from_hours(25));
    assert_eq!(store.collect(10).await.unwrap(), 1);
    assert!(files(&world).is_empty());
}

async fn what_is_put_again_while_it_goes_stays(world: World) {
    const MARK: palyra_storage::Sql = palyra_storage::sql!("UPDATE blobs SET state = 'deleting'");
    let store = store(&world);
    let id = store.put(Bytes::from_static(b"again")).await.unwrap();
    // A collection that has marked the row and not yet deleted the object.
    world.db.write(|tx| tx.execute(&MARK, palyra_storage::params![])).await.unwrap();
    assert_eq!(store.get(&id).await.unwrap_err().code(), ErrorCode::BlobNotFound);
    let old = files(&world);
    store.put(Bytes::from_static(b"again")).await.unwrap();
    // Now that collection deletes what it had marked.
    std::fs::remove_file(&old[0]).unwrap();
    assert_eq!(store.get(&id).await.unwrap(), "again");
}

async fn damage_is_noticed_and_mended_by_putting_again(world: World) {
    let store = store(&world);
    let id = store.put(Bytes::from_static(b"precious")).await.unwrap();
    std::fs::write(&files(&world)[0], b"precioux").unwrap();
    assert_eq!(store.get(&id).await.unwrap_err().code(), ErrorCode::BlobCorrupt);
    std::fs::remove_file(&files(&world)[0]).unwrap();
    assert_eq!(store.get(&id).await.unwrap_err().code(), ErrorCode::BlobCorrupt);
    store.put(Bytes::from_static(b"precious")).await.unwrap();
    assert_eq!(store.get(&id).await.unwrap(), "precious");
}

async fn a_blob_that_is_gone_cannot_be_held(world: World) {
    let store = store(&world);
    let never = hold(&world, &BlobId::of(b"never"), "message:1").await.unwrap_err();
    assert_eq!(never.code(), ErrorCode::BlobNotFound);
    let id = store.put(Bytes::from_static(b"gone")).await.unwrap();
    world.clock.advance(Duration::from_hours(25));
    assert_eq!(store.collect(10).await.unwrap(), 1);
    assert!(hold(&world, &id, "message:1").await.is_err());
}
