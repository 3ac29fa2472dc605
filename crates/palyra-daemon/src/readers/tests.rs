use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use palyra_common::ErrorCode;
use palyra_common::ids::Principal;
use palyra_common::runtime_contracts::Role;
use palyra_identity::role_scopes;
use palyra_storage::new_id;
use tokio::runtime::Handle;

use super::*;

const AN_HOUR: Duration = Duration::from_secs(3_600);
const LOOKS: u64 = AN_HOUR.as_secs();
const BREATHS: u64 = AN_HOUR.as_secs() / BREATHE_EVERY.as_secs();

fn access() -> Access {
    let (role, credential) = (Role::Owner, Credential::Token(new_id()));
    let (principal, scopes) = (Principal::owner(), role_scopes(role));
    Access { principal, role, scopes, credential, expires_at: None }
}

/// Who is asked, and what they say.
#[derive(Default)]
struct Asked {
    looks: AtomicU64,
    feeds: AtomicU64,
    newest: AtomicU64,
    ended: Mutex<Vec<Credential>>,
    /// How many looks fail yet.
    failing: AtomicU64,
}

impl Look for Asked {
    async fn again(&self, access: &Access) -> Standing {
        self.looks.fetch_add(1, Ordering::Relaxed);
        let less = |left: u64| left.checked_sub(1);
        if self.failing.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return Err(StorageError::Busy(Arc::new(std::io::Error::other("in the way"))).into());
        }
        let has_ended = self.ended.lock().unwrap().contains(&access.credential);
        if has_ended { Err(AuthError::Revoked) } else { Ok(access.clone()) }
    }

    async fn newest(&self) -> Result<i64, StorageError> {
        self.feeds.fetch_add(1, Ordering::Relaxed);
        Ok(self.newest.load(Ordering::Relaxed).try_into().unwrap())
    }
}

/// How often the runtime went to sleep, and readers were woken, in an hour in which nothing happens.
async fn an_hour_with(count: usize) -> (u64, u64) {
    let (readers, asked) = (Arc::new(Readers::new(Slots::new(0))), Arc::new(Asked::default()));
    let (all, who) = (readers.clone(), asked.clone());
    let looking = tokio::spawn(async move { all.look_after(&*who).await });
    let (tokens, woken) = ([access(), access()], Arc::new(AtomicU64::new(0)));
    let mut reading = tokio::task::JoinSet::new();
    for number in 0..count {
        let mut reader = readers.enter(&tokens[number % 2], Scope::SessionsRead).unwrap();
        let woken = woken.clone();
        reading.spawn(async move {
            while let Told::Breathe = reader.told().await {
                woken.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Each comes at a time of its own: timers of their own would run out one by one.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before = (Handle::current().metrics().worker_park_count(0), woken.load(Ordering::Relaxed));
    tokio::time::sleep(AN_HOUR).await;
    let slept = Handle::current().metrics().worker_park_count(0) - before.0;
    let woken = woken.load(Ordering::Relaxed) - before.1;
    assert_eq!(reading.len(), count);
    let looks = asked.looks.load(Ordering::Relaxed);
    assert!(looks <= 2 * (LOOKS + 10), "{looks} looks at two credentials of {count} readers");
    looking.abort();
    (slept, woken)
}

#[tokio::test(start_paused = true)]
async fn readers_that_are_told_nothing_have_no_timers() {
    let (slept_with_few, _) = an_hour_with(2).await;
    let (slept, woken) = an_hour_with(1_000).await;
    assert!(slept_with_few >= LOOKS, "{slept_with_few}: the time did not pass");
    // A timer of each would be a thousand wakings more each time that they run out.
    assert!(slept <= 2 * slept_with_few, "{slept} with a thousand, {slept_with_few} with two");
    assert!(woken <= 1_000 * (BREATHS + 1), "{woken}");
}

#[tokio::test(start_paused = true)]
async fn whose_credential_has_ended_is_told_and_nobody_else() {
    let (readers, asked) = (Readers::new(Slots::new(0)), Asked::default());
    let (one, other) = (access(), access());
    let mut ending = [(); 3].map(|()| readers.enter(&one, Scope::SessionsRead).unwrap());
    let mut staying = readers.enter(&other, Scope::SessionsRead).unwrap();
    let tell = async {
        asked.ended.lock().unwrap().push(one.credential);
        for reader in &mut ending {
            let Told::Refused(refusal) = reader.told().await else { panic!("not told") };
            assert_eq!(refusal.envelope().known_code(), Some(ErrorCode::AuthRevoked));
        }
        assert!(matches!(staying.told().await, Told::Breathe));
    };
    tokio::select! {
        () = tell => {}
        () = readers.look_after(&asked) => {}
    }
    assert_eq!(readers.credentials().len(), 1, "what has ended is forgotten");
}

/// A database that fails for a while has not taken anybody's credential away.
#[tokio::test(start_paused = true)]
async fn a_look_that_fails_ends_nobody_and_the_next_one_counts() {
    let (readers, asked) = (Readers::new(Slots::new(0)), Asked::default());
    let (one, other) = (access(), access());
    let mut ending = readers.enter(&one, Scope::SessionsRead).unwrap();
    let mut staying = readers.enter(&other, Scope::SessionsRead).unwrap();
    asked.failing.store(5, Ordering::Relaxed);
    asked.ended.lock().unwrap().push(one.credential);
    let tell = async {
        let Told::Refused(refusal) = ending.told().await else { panic!("not told") };
        assert_eq!(refusal.envelope().known_code(), Some(ErrorCode::AuthRevoked));
        assert_eq!(asked.failing.load(Ordering::Relaxed), 0, "it was told before the looks failed");
        assert!(matches!(staying.told().await, Told::Breathe));
    };
    tokio::select! {
        () = tell => {}
        () = readers.look_after(&asked) => {}
    }
}

#[tokio::test(start_paused = true)]
async fn the_feed_is_looked_at_once_for_all_and_only_if_somebody_reads_it() {
    let (readers, asked) = (Readers::new(Slots::new(0)), Asked::default());
    let follow = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(asked.feeds.load(Ordering::Relaxed), 0);
        let mut reading = [(); 100].map(|()| readers.newest());
        asked.newest.store(7, Ordering::Relaxed);
        for newest in &mut reading {
            newest.changed().await.unwrap();
            assert_eq!(*newest.borrow(), 7);
        }
        assert_eq!(asked.feeds.load(Ordering::Relaxed), 1);
    };
    tokio::select! {
        () = follow => {}
        () = readers.look_after(&asked) => {}
    }
}
