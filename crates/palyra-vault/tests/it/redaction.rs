//! A redactor knows what is in the vault, whichever node has put it there.

use std::time::Duration;

use palyra_storage::Database;
use palyra_vault::{NewMaster, Redactor};

use crate::world::{World, anna, name, on_every_engine};

on_every_engine!(
    a_value_is_known_as_soon_as_it_is_set,
    an_open_vault_knows_what_was_set_before,
    another_node_learns_of_changes,
    one_entry_stands_for_loading_all,
    only_what_is_new_is_loaded,
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

async fn one_entry_stands_for_loading_all(world: World) {
    world.set("global/a", "value of a").await;
    world.set("global/b", "value of b").await;
    world.reopened().await;
    let read = world.told("secret.read").await;
    assert_eq!(read, [r#"system secret:* ok {"purpose":"redaction","versions":2}"#]);
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
    let of =
        |versions| format!(r#"system secret:* ok {{"purpose":"redaction","versions":{versions}}}"#);
    assert_eq!(read, [of(2), of(1)], "and the node that set them reads none");
}
