//! Content is stored once, stays as long as somebody holds it, and goes a day after: in a folder
//! and on S3.

use bytes::Bytes;
use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::blob::{BlobError, BlobId, BlobStore};
use palyra_storage::{Sql, Tx, params, sql};
use tokio::task::JoinSet;

use crate::shelf::Shelf;

/// Stamps each story on every store and every engine.
macro_rules! on_every_store {
    ($($story:ident),+ $(,)?) => {
        mod folder {
            use crate::{shelf::Shelf, world::{World, on_every_engine}};

            on_every_engine!($($story),+);
            $(async fn $story(world: World) {
                super::$story(Shelf::in_folder(world)).await;
            })+
        }
        mod s3 {
            use crate::{shelf::Shelf, world::{World, on_every_engine}};

            on_every_engine!($($story),+);
            $(async fn $story(world: World) {
                super::$story(Shelf::on_s3(world)).await;
            })+
        }
    };
}

on_every_store!(
    content_comes_back,
    the_same_content_is_stored_once,
    what_is_held_stays_and_what_is_not_goes,
    what_is_put_again_while_it_goes_stays,
    damage_is_noticed_and_mended_by_putting_again,
    a_blob_that_is_gone_cannot_be_held,
    a_damaged_name_is_told_and_keeps_no_other_blob,
);

async fn hold(shelf: &Shelf, id: &BlobId, holder: &'static str) -> Result<(), BlobError> {
    let (id, now) = (id.clone(), shelf.world.clock().now());
    shelf.world.db.try_write(move |tx| BlobStore::hold(tx, &id, holder, now)).await
}

async fn let_go(shelf: &Shelf, id: &BlobId, holder: &'static str) {
    let (id, now) = (id.clone(), shelf.world.clock().now());
    shelf.world.db.try_write(move |tx| BlobStore::let_go(tx, &id, holder, now)).await.unwrap();
}

async fn content_comes_back(shelf: Shelf) {
    let store = &shelf.store;
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

async fn the_same_content_is_stored_once(shelf: Shelf) {
    let store = &shelf.store;
    let mut callers = JoinSet::new();
    for _ in 0..20 {
        let store = store.clone();
        callers.spawn(async move { store.put(Bytes::from_static(b"same")).await.unwrap() });
    }
    let ids = callers.join_all().await;
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!((store.totals().await.unwrap(), shelf.objects().len()), ((1, 4), 1));
    assert_eq!(store.get(&ids[0]).await.unwrap(), "same");
}

async fn what_is_held_stays_and_what_is_not_goes(shelf: Shelf) {
    let store = &shelf.store;
    let held = store.put(Bytes::from_static(b"held")).await.unwrap();
    let loose = store.put(Bytes::from_static(b"loose")).await.unwrap();
    hold(&shelf, &held, "message:1").await.unwrap();
    hold(&shelf, &held, "message:1").await.unwrap();
    hold(&shelf, &held, "message:2").await.unwrap();
    shelf.world.clock.advance(Duration::from_hours(23));
    assert_eq!(store.collect(10).await.unwrap(), 0);
    shelf.world.clock.advance(Duration::from_hours(2));
    assert_eq!(store.collect(10).await.unwrap(), 1);
    assert_eq!(store.get(&loose).await.unwrap_err().code(), ErrorCode::BlobNotFound);
    assert_eq!(shelf.objects().len(), 1);

    let_go(&shelf, &held, "message:1").await;
    let_go(&shelf, &held, "message:1").await;
    shelf.world.clock.advance(Duration::from_hours(25));
    assert_eq!(store.collect(10).await.unwrap(), 0, "message:2 still holds it");
    let_go(&shelf, &held, "message:2").await;
    assert_eq!(store.collect(10).await.unwrap(), 0, "a day has not passed");
    shelf.world.clock.advance(Duration::from_hours(25));
    assert_eq!(store.collect(10).await.unwrap(), 1);
    assert!(shelf.objects().is_empty());
}

async fn what_is_put_again_while_it_goes_stays(shelf: Shelf) {
    const MARK: Sql = sql!("UPDATE blobs SET state = 'deleting'");
    let store = &shelf.store;
    let id = store.put(Bytes::from_static(b"again")).await.unwrap();
    // A collection that has marked the row and not yet deleted the object.
    shelf.world.db.write(|tx| tx.execute(&MARK, params![])).await.unwrap();
    assert_eq!(store.get(&id).await.unwrap_err().code(), ErrorCode::BlobNotFound);
    let old = shelf.objects();
    store.put(Bytes::from_static(b"again")).await.unwrap();
    // That collection died; the next one deletes what it had marked, and nothing else.
    assert!(shelf.objects().contains(&old[0]));
    store.collect(10).await.unwrap();
    assert!(!shelf.objects().contains(&old[0]), "an object was left behind for ever");
    assert_eq!(store.get(&id).await.unwrap(), "again");
}

async fn damage_is_noticed_and_mended_by_putting_again(shelf: Shelf) {
    let store = &shelf.store;
    let id = store.put(Bytes::from_static(b"precious")).await.unwrap();
    shelf.write(&shelf.objects()[0], b"precioux");
    assert_eq!(store.get(&id).await.unwrap_err().code(), ErrorCode::BlobCorrupt);
    for damage in [&b""[..], b"prec"] {
        shelf.write(&shelf.objects()[0], damage);
        assert_eq!(store.get(&id).await.unwrap_err().code(), ErrorCode::BlobCorrupt);
        store.put(Bytes::from_static(b"precious")).await.unwrap();
        assert_eq!(store.get(&id).await.unwrap(), "precious");
    }
    shelf.remove(&shelf.objects()[0]);
    assert_eq!(store.get(&id).await.unwrap_err().code(), ErrorCode::BlobCorrupt);
    store.put(Bytes::from_static(b"precious")).await.unwrap();
    assert_eq!(store.get(&id).await.unwrap(), "precious");
}

async fn a_blob_that_is_gone_cannot_be_held(shelf: Shelf) {
    let store = &shelf.store;
    let never = hold(&shelf, &BlobId::of(b"never"), "message:1").await.unwrap_err();
    assert_eq!(never.code(), ErrorCode::BlobNotFound);
    let id = store.put(Bytes::from_static(b"gone")).await.unwrap();
    shelf.world.clock.advance(Duration::from_hours(25));
    assert_eq!(store.collect(10).await.unwrap(), 1);
    assert!(hold(&shelf, &id, "message:1").await.is_err());
}

async fn a_damaged_name_is_told_and_keeps_no_other_blob(shelf: Shelf) {
    const DAMAGE: Sql = sql!("UPDATE blobs SET sha256 = $2 WHERE sha256 = $1");
    const TRASH: Sql = sql!("INSERT INTO blob_trash (generation, sha256) VALUES ($1, $2)");
    let store = &shelf.store;
    // One that is too short to be cut, and one that cannot be cut there.
    for (content, damaged) in [("short", "a"), ("wide", "\u{20ac}")] {
        let id = store.put(content.into()).await.unwrap();
        let damage = move |tx: &mut Tx<'_>| {
            tx.execute(&TRASH, params![damaged, damaged])?;
            tx.execute(&DAMAGE, params![id.as_str(), damaged])
        };
        assert_eq!(shelf.world.db.write(damage).await.unwrap(), 1);
    }
    let whole = store.put(Bytes::from_static(b"whole")).await.unwrap();
    shelf.world.clock.advance(Duration::from_hours(25));
    for _ in 0..2 {
        let told = store.collect(10).await.unwrap_err();
        assert_eq!(told.code(), ErrorCode::StorageInvalidValue, "{told:?}");
        assert!(told.envelope().message().contains("named by 64"), "{}", told.envelope());
        assert_eq!(store.size(&whole).await.unwrap(), None, "it was kept by the others");
        assert_eq!(shelf.objects().len(), 2, "what is not known by its name is not touched");
    }
}
