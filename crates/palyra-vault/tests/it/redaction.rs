//! A redactor knows what is in the vault, whichever node has put it there.

use std::time::Duration;

use palyra_storage::{Database, Sql, sql};
use palyra_vault::{NewMaster, Redactor};

use crate::world::{World, anna, get, name, on_every_engine};

on_every_engine!(
    a_value_is_known_as_soon_as_it_is_set,
    an_open_vault_knows_what_was_set_before,
    another_node_learns_of_changes,
    loading_all_is_recorded_by_their_names,
    an_entry_about_many_stays_small,
    only_what_is_new_is_loaded,
    what_is_not_known_is_told_until_the_key_is_back,
    what_cannot_be_opened_is_told_until_it_is_gone,
);

/// Less than the minute after which a feed looks without a notice.
const NOTICED: Duration = Duration::from_secs(30);

/// Waits until `text` is redacted to `expected`.
async fn becomes(redactor: &Redactor, text: &str, expected: &str) {
    let waiting = async {
        while redactor.redact(text) != expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = tokio::time::timeout(NOTICED, waiting).await;
    assert!(in_time.is_ok(), "{text} stays {}", redactor.redact(text));
}

async fn a_value_is_known_as_soon_as_it_is_set(world: World) {
    world.set("global/key", "hunter2hunter2").await;
    let redacted = world.vault.redactor().redact("it is hunter2hunter2, is it?").into_owned();
    assert_eq!(redacted, "it is [redacted:global/key], is it?");
}

async fn an_open_vault_knows_what_was_set_before(world: World) {
    world.set("global/key", "first value").await;
    world.set("global/key", "second value").await;
    let vault = world.reopened().await;
    let redacted = vault.redactor().redact("first value, second value").into_owned();
    // An old version may still be valid where it is used.
    assert_eq!(redacted, "[redacted:global/key], [redacted:global/key]");
}

async fn another_node_learns_of_changes(world: World) {
    let db = match &world.postgres {
        Some(_) => Database::open(world.options.clone()).await.unwrap(),
        None => world.db.clone(),
    };
    let other = world.vault_on(&db, &world.config).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let feed = tokio::spawn(other.feed().run(async {
        let _ = stopped.await;
    }));
    let text = "hunter2hunter2";
    world.set("global/key", text).await;
    becomes(other.redactor(), text, "[redacted:global/key]").await;
    world.vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    world.set("global/more", "another value").await;
    becomes(other.redactor(), "another value", "[redacted:global/more]").await;
    world.vault.delete(&name("global/key"), &anna()).await.unwrap();
    becomes(other.redactor(), text, text).await;
    stop.send(()).unwrap();
    feed.await.unwrap();
}

async fn loading_all_is_recorded_by_their_names(world: World) {
    world.set("global/a", "value of a").await;
    world.set("global/a", "another of a").await;
    world.set("agent:x/b", "value of b").await;
    world.reopened().await;
    let read = world.told("secret.read").await;
    let named = r#"{"purpose":"redaction","secrets":{"agent:x/b":[1],"global/a":[1,2]}}"#;
    assert_eq!(read, [format!("system secret:* ok {named}")]);
}

async fn an_entry_about_many_stays_small(world: World) {
    for at in 0..21 {
        for version in 0..10 {
            world.set(&format!("global/{at}"), &format!("value {at}-{version}")).await;
        }
    }
    world.reopened().await;
    let read = world.told("secret.read").await;
    let named = |entry: &String| {
        let (_, detail) = entry.split_once(" ok ").unwrap();
        let detail: serde_json::Value = serde_json::from_str(detail).unwrap();
        let secrets = detail["secrets"].as_object().unwrap().values();
        secrets.map(|versions| versions.as_array().unwrap().len()).sum::<usize>()
    };
    assert_eq!(read.iter().map(named).collect::<Vec<_>>(), [200, 10]);
}

async fn only_what_is_new_is_loaded(world: World) {
    world.set("global/a", "value of a").await;
    world.set("global/b", "value of b").await;
    let other = world.reopened().await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let until = async {
        let _ = stopped.await;
    };
    let feed = tokio::spawn(other.feed().run(until));
    world.set("global/b", "newer value of b").await;
    becomes(other.redactor(), "newer value of b", "[redacted:global/b]").await;
    stop.send(()).unwrap();
    feed.await.unwrap();
    let read = world.told("secret.read").await;
    let of = |named| format!(r#"system secret:* ok {{"purpose":"redaction","secrets":{named}}}"#);
    let (first, then) = (r#"{"global/a":[1],"global/b":[1]}"#, r#"{"global/b":[2]}"#);
    assert_eq!(read, [of(first), of(then)], "and the node that set them reads none");
}

async fn what_is_not_known_is_told_until_the_key_is_back(world: World) {
    world.vault.knows_all().await.unwrap();
    world.set("global/key", "hunter2hunter2").await;
    world.vault.knows_all().await.unwrap();
    let away = world.folder.path().join("away");
    std::fs::rename(world.key_file(), &away).unwrap();
    let vault = world.reopened().await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let until = async {
        let _ = stopped.await;
    };
    let feed = tokio::spawn(vault.feed().run(until));
    for _ in 0..2 {
        assert_eq!(vault.knows_all().await.unwrap_err().code().as_str(), "vault/no_key");
    }
    std::fs::rename(&away, world.key_file()).unwrap();
    // Whoever needs the key finds it, and the feed is told.
    assert_eq!(get(&vault, "global/key").await.unwrap(), "hunter2hunter2");
    becomes(vault.redactor(), "hunter2hunter2", "[redacted:global/key]").await;
    vault.knows_all().await.unwrap();
    stop.send(()).unwrap();
    feed.await.unwrap();

    std::fs::rename(world.key_file(), &away).unwrap();
    let vault = world.reopened().await;
    assert_eq!(vault.knows_all().await.unwrap_err().code().as_str(), "vault/no_key");
    std::fs::rename(&away, world.key_file()).unwrap();
    vault.knows_all().await.unwrap();
    assert_eq!(vault.redactor().redact("hunter2hunter2"), "[redacted:global/key]");
}

const DAMAGE: Sql = sql!("UPDATE secrets SET ciphertext = wrapped_key WHERE version = 1");

async fn what_cannot_be_opened_is_told_until_it_is_gone(world: World) {
    world.set("global/key", "first value").await;
    world.set("global/key", "second value").await;
    world.execute(&DAMAGE).await;
    let vault = world.reopened().await;
    assert!(vault.damaged().await.unwrap().is_empty(), "the current version is whole");
    let told = vault.knows_all().await.unwrap_err();
    assert_eq!(told.code().as_str(), "vault/damaged");
    assert!(told.to_string().contains("version 1 of the secret global/key"), "{told}");
    vault.delete(&name("global/key"), &anna()).await.unwrap();
    vault.knows_all().await.unwrap();
}
