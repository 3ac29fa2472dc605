//! Setting, reading, listing and deleting, and what the journal says of it.

use palyra_common::error::ErrorCode;
use palyra_storage::once::{Key, Made, Once};
use palyra_storage::{Sql, sql};
use palyra_vault::{MAX_VALUE_BYTES, SecretString, VERSIONS_KEPT};

use crate::world::{World, anna, get, name, on_every_engine, reading, set};

on_every_engine!(
    a_secret_is_read_as_it_was_set,
    the_last_ten_versions_are_kept,
    a_value_has_a_size,
    what_is_not_there_is_not_found,
    a_list_tells_names_and_versions,
    a_list_goes_on_where_a_page_ended,
    a_deleted_secret_is_gone,
    each_step_is_in_the_journal,
    a_read_that_cannot_be_recorded_fails,
    sets_at_the_same_time_all_count,
    a_full_vault_takes_no_more,
    a_value_that_is_gone_is_not_told_to_be_the_one_that_was_stored,
);

async fn a_secret_is_read_as_it_was_set(world: World) {
    let values = ["hunter2hunter2", " with blanks\nand \"lines\" ", "žluťoučký kůň", "\0"];
    for (at, value) in values.iter().enumerate() {
        assert_eq!(world.set("global/key", value).await, at as i64 + 1);
        assert_eq!(get(&world.vault, "global/key").await.unwrap(), *value);
    }
    world.set("agent:a/key", "another").await;
    assert_eq!(get(&world.vault, "global/key").await.unwrap(), "\0");
    let reopened = world.reopened().await;
    assert_eq!(get(&reopened, "agent:a/key").await.unwrap(), "another");
}

async fn the_last_ten_versions_are_kept(world: World) {
    world.set("global/other", "stays").await;
    for round in 1..=13 {
        assert_eq!(world.set("global/key", &format!("value {round}")).await, round);
    }
    let listed = world.list().await;
    let versions: Vec<_> = listed[0].versions.iter().map(|version| version.version).collect();
    assert_eq!(versions, (4..=13).rev().collect::<Vec<_>>());
    assert_eq!(versions.len() as i64, VERSIONS_KEPT);
    assert_eq!(listed[1].versions.len(), 1);
    assert_eq!(get(&world.vault, "global/key").await.unwrap(), "value 13");
}

async fn a_value_has_a_size(world: World) {
    let largest = "x".repeat(MAX_VALUE_BYTES);
    world.set("global/key", &largest).await;
    assert_eq!(get(&world.vault, "global/key").await.unwrap(), largest);
    let refused = set(&world.vault, "global/key", &(largest + "x")).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::VaultTooLarge);
    assert!(refused.to_string().contains("global/key has 65537 bytes"), "{refused}");
    let refused = set(&world.vault, "global/key", "").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CommonInvalidInput);
    assert_eq!(world.list().await[0].versions.len(), 1);
}

async fn what_is_not_there_is_not_found(world: World) {
    let missing = get(&world.vault, "global/key").await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::CommonNotFound);
    let missing = world.vault.delete(&name("global/key"), &anna()).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::CommonNotFound);
    assert!(!world.key_file().exists(), "a key is made only when there is something to lock");
    assert_eq!(world.told("secret.deleted").await.len(), 0);
    let read = world.told("secret.read").await;
    assert_eq!(read, [r#"agent:helper secret:global/key not_found {"purpose":"a test"}"#]);
}

async fn a_list_tells_names_and_versions(world: World) {
    for (secret, value) in [("skill:b/x", "one"), ("global/x", "two"), ("skill:b/x", "three")] {
        world.set(secret, value).await;
        world.clock.advance(palyra_common::time::Duration::from_secs(1));
    }
    let listed = serde_json::to_value(world.list().await).unwrap();
    let version = |version: i64, after: i64| {
        let at = crate::world::START.as_unix_millis() + after * 1_000;
        serde_json::json!({"version": version, "created_at": at, "created_by": "operator:anna"})
    };
    let expected = serde_json::json!([
        {"name": "global/x", "versions": [version(1, 1)]},
        {"name": "skill:b/x", "versions": [version(2, 2), version(1, 0)]},
    ]);
    assert_eq!(listed, expected);
}

/// Bytewise, whatever the database thinks of letters; and a page is as long as it has secrets,
/// however many versions those have.
async fn a_list_goes_on_where_a_page_ended(world: World) {
    let mut names = ["agent:B/a", "agent:a/A", "agent:a/_", "agent:a/a", "global/x", "skill:a/x"];
    for (at, name) in names.iter().rev().enumerate() {
        for version in 0..=at {
            world.set(name, &format!("value {version}")).await;
        }
    }
    names.sort();
    for limit in 1..=7 {
        let (mut after, mut listed) = (None, Vec::new());
        let pages = names.len().div_ceil(limit as usize);
        for number in 1..=pages {
            let page = world.vault.list(after, limit).await.unwrap();
            let is_last = number == pages;
            assert_eq!(page.next.is_none(), is_last, "page {number} of {limit}");
            assert!(is_last || page.secrets.len() == limit as usize, "page {number} of {limit}");
            listed.extend(page.secrets.iter().map(|secret| secret.name.to_string()));
            after = page.next;
        }
        assert_eq!(listed, names, "{limit}");
    }
    let after = Some(name("agent:a/B"));
    let rest = world.vault.list(after, 2).await.unwrap();
    let rest: Vec<_> = rest.secrets.iter().map(|secret| secret.versions.len()).collect();
    assert_eq!(rest, [4, 3], "what a page goes on after need not be there any more");
}

async fn a_deleted_secret_is_gone(world: World) {
    world.set("global/key", "one").await;
    world.set("global/key", "two").await;
    world.set("global/kept", "kept").await;
    world.vault.delete(&name("global/key"), &anna()).await.unwrap();
    assert_eq!(
        get(&world.vault, "global/key").await.unwrap_err().code(),
        ErrorCode::CommonNotFound
    );
    assert_eq!(get(&world.vault, "global/kept").await.unwrap(), "kept");
    assert_eq!(world.list().await.len(), 1);
}

async fn each_step_is_in_the_journal(world: World) {
    world.set("global/key", "first value").await;
    world.set("global/key", "second value").await;
    get(&world.vault, "global/key").await.unwrap();
    let purpose = format!("send first value\0 {}", "x".repeat(500));
    world.vault.get(&name("global/key"), &reading(&purpose)).await.unwrap();
    world.vault.delete(&name("global/key"), &anna()).await.unwrap();

    let journal = world.journal().await;
    let told: Vec<_> = journal.iter().map(|entry| entry.event.action.as_str()).collect();
    let expected = ["vault.master_created", "secret.set", "secret.set", "secret.read"];
    assert_eq!(told, [&expected[..], &["secret.read", "secret.deleted"]].concat());
    let sets = world.told("secret.set").await;
    assert_eq!(sets[1], r#"operator:anna secret:global/key ok {"version":2}"#);
    let reads = world.told("secret.read").await;
    let read = r#"agent:helper secret:global/key ok {"purpose":"a test","version":2}"#;
    assert_eq!(reads[0], read);
    assert!(reads[1].contains("send [redacted:global/key] xxx"), "{}", reads[1]);
    assert!(reads[1].len() < 300, "what a caller says has a bound");
    let deleted = world.told("secret.deleted").await;
    assert_eq!(deleted, [r#"operator:anna secret:global/key ok {"versions":2}"#]);
}

/// Nothing can be added to the journal any more.
const BREAK_THE_JOURNAL: Sql = sql!("ALTER TABLE journal RENAME TO journal_away");

async fn a_read_that_cannot_be_recorded_fails(world: World) {
    world.set("global/key", "value").await;
    assert_eq!(get(&world.vault, "global/key").await.unwrap(), "value");
    world.execute(&BREAK_THE_JOURNAL).await;
    let refused = get(&world.vault, "global/key").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageInternal, "{refused:?}");
    let refused = set(&world.vault, "global/key", "other").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageInternal, "{refused:?}");
    let refused = world.vault.delete(&name("global/key"), &anna()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageInternal, "{refused:?}");
    assert_eq!(world.list().await[0].versions.len(), 1);
}

async fn sets_at_the_same_time_all_count(world: World) {
    let mut sets = tokio::task::JoinSet::new();
    for at in 0..8 {
        let vault = world.vault.clone();
        sets.spawn(async move {
            let value = SecretString::from(format!("value {at}"));
            vault.set(&name("global/key"), value, &anna()).await.unwrap()
        });
    }
    let mut versions = sets.join_all().await;
    versions.sort_unstable();
    assert_eq!(versions, (1..=8).collect::<Vec<_>>());
    assert_eq!(world.told("vault.master_created").await.len(), 1);
}

/// As many rows as `$1` says, each of them like that of the first secret with `$2` as its value.
const FILL: Sql = sql!(
    "WITH RECURSIVE numbers(number) AS
         (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < $1)
     INSERT INTO secrets
         (scope, name, version, key_id, wrapped_key, ciphertext, created_at, created_by)
     SELECT 'skill:filler', 'f' || number, 1, key_id, wrapped_key, $2, created_at, created_by
     FROM secrets, numbers WHERE name = 'first'"
);

async fn a_full_vault_takes_no_more(world: World) {
    world.set("global/first", "value").await;
    for (rows, bytes) in [(palyra_vault::MAX_VERSIONS - 1, 1), (255, 64 * 1_024)] {
        let fill = move |tx: &mut palyra_storage::Tx<'_>| {
            tx.execute(&FILL, palyra_storage::params![rows, vec![7_u8; bytes].as_slice()])
        };
        assert_eq!(world.db.write(fill).await.unwrap(), u64::try_from(rows).unwrap());
        let value = "x".repeat(MAX_VALUE_BYTES);
        let refused = set(&world.vault, "global/first", &value).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::VaultFull, "{refused:?}");
        assert!(refused.to_string().contains("delete secrets"), "{refused}");
        assert_eq!(get(&world.vault, "global/first").await.unwrap(), "value");
        world.execute(&EMPTY).await;
    }
    world.set("global/first", "value").await;
}

const EMPTY: Sql = sql!("DELETE FROM secrets WHERE scope = 'skill:filler'");

/// Nobody can tell whether the request with the key is the same, so it is not told to be.
async fn a_value_that_is_gone_is_not_told_to_be_the_one_that_was_stored(world: World) {
    let put = async |value: &str| {
        let once = Once::new("secret.set", Key::parse("a-key").unwrap(), b"global/key");
        world.vault.set_once(&name("global/key"), value.into(), Some(once), &anna()).await
    };
    let check_refused = async || {
        for value in ["first value", "second value"] {
            let refused = put(value).await.unwrap_err();
            assert_eq!(refused.code(), ErrorCode::CommonConflict, "{refused}");
        }
    };
    assert_eq!(put("first value").await.unwrap(), Made::Now(1));
    assert_eq!(put("first value").await.unwrap(), Made::Before(1));
    for at in 0..VERSIONS_KEPT {
        world.set("global/key", &format!("later value {at}")).await;
    }
    check_refused().await;
    world.vault.delete(&name("global/key"), &anna()).await.unwrap();
    check_refused().await;
    assert!(world.list().await.is_empty());
}
