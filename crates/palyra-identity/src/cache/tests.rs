use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::Role;
use palyra_common::time::{Duration, Timestamp};
use palyra_storage::{Database, OpenOptions, new_id};

use super::{Cache, Key, Kind, Looked};
use crate::secret::Digest;
use crate::standing::{Bounds, Standing, Stored};
use crate::store::principals::Found;
use crate::{Credential, Secret, TOPIC};

const NOW: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);
const LIVES: Duration = Duration::from_millis(500);

/// A cache of a database that nothing happens on.
async fn cache(limit: usize) -> (Cache, Database, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
    (Cache::new(db.subscribe(TOPIC), limit, LIVES), db, folder)
}

fn key() -> Key {
    (Kind::Token, Digest::of(&Secret::random("")))
}

fn standing() -> Standing {
    let stored = Stored {
        credential: Credential::Token(new_id()),
        principal: Principal::owner(),
        bounds: Bounds::NONE,
        expires_at: None,
        seen_at: None,
        ended_at: None,
    };
    Standing { stored, owner: Found { role: Role::Owner, disabled_at: None } }
}

/// The generation under which something may be kept.
fn missed(cache: &Cache, key: &Key, now: Timestamp) -> u64 {
    match cache.look(key, now) {
        Looked::Miss(generation) => generation,
        Looked::Hit(_) => panic!("nothing was kept"),
    }
}

fn is_kept(cache: &Cache, key: &Key, now: Timestamp) -> bool {
    matches!(cache.look(key, now), Looked::Hit(_))
}

#[tokio::test]
async fn it_never_grows_beyond_its_limit() {
    let (cache, _db, _folder) = cache(3).await;
    for _ in 0..100 {
        let key = key();
        cache.keep(missed(&cache, &key, NOW), key, standing(), NOW);
        assert!(is_kept(&cache, &key, NOW), "the newest is always there");
        assert!(cache.current().entries.len() <= 3);
    }
}

#[tokio::test]
async fn what_is_old_makes_room_before_what_is_in_use() {
    let (cache, _db, _folder) = cache(3).await;
    let (old, young, last) = ([key(), key()], key(), key());
    for key in old {
        cache.keep(missed(&cache, &key, NOW), key, standing(), NOW);
    }
    let later = NOW + LIVES;
    for key in [young, last] {
        cache.keep(missed(&cache, &key, later), key, standing(), later);
    }
    assert!(is_kept(&cache, &young, later) && is_kept(&cache, &last, later));
    assert_eq!(cache.current().entries.len(), 2);
}

/// A read that began before a revocation may end after it, with what was true before.
#[tokio::test]
async fn what_was_read_before_an_end_is_not_kept_after_it() {
    let (cache, db, _folder) = cache(3).await;
    let key = key();
    let before = missed(&cache, &key, NOW);
    cache.forget();
    cache.keep(before, key, standing(), NOW);
    assert!(!is_kept(&cache, &key, NOW));
    let before = missed(&cache, &key, NOW);
    let mut heard = db.subscribe(TOPIC);
    let ring = |tx: &mut palyra_storage::Tx<'_>| {
        tx.notify(TOPIC);
        Ok(())
    };
    db.write(ring).await.unwrap();
    heard.changed().await;
    cache.keep(before, key, standing(), NOW);
    assert!(!is_kept(&cache, &key, NOW));
}

#[tokio::test]
async fn a_secret_is_remembered_for_what_it_is() {
    let (cache, _db, _folder) = cache(3).await;
    let (kind, digest) = key();
    cache.keep(missed(&cache, &(kind, digest), NOW), (kind, digest), standing(), NOW);
    assert!(!is_kept(&cache, &(Kind::Login, digest), NOW));
}
