//! Whoever can write to the database can destroy secrets, and nothing more: every change is noticed.

use palyra_common::error::ErrorCode;
use palyra_storage::{Sql, params, sql};
use palyra_vault::NewMaster;

use crate::world::{World, anna, get, name, on_every_engine, set};

on_every_engine!(
    every_flipped_byte_is_noticed,
    rows_that_change_places_are_noticed,
    secrets_that_cannot_be_opened_are_named,
);

const READ: Sql = sql!(
    "SELECT wrapped_key, ciphertext FROM secrets
     WHERE scope = 'global' AND name = $1 AND version = $2"
);
const WRITE: Sql = sql!(
    "UPDATE secrets SET wrapped_key = $3, ciphertext = $4
     WHERE scope = 'global' AND name = $1 AND version = $2"
);

type Columns = (Vec<u8>, Vec<u8>);

async fn read(world: &World, name: &'static str, version: i64) -> Columns {
    let read = move |tx: &mut palyra_storage::Tx<'_>| {
        tx.query_one(&READ, params![name, version], |row| Ok((row.get(0)?, row.get(1)?)))
    };
    world.db.read(read).await.unwrap()
}

async fn write(world: &World, name: &'static str, version: i64, (wrapped, text): Columns) {
    let write = move |tx: &mut palyra_storage::Tx<'_>| {
        tx.execute(&WRITE, params![name, version, wrapped.as_slice(), text.as_slice()])
    };
    assert_eq!(world.db.write(write).await.unwrap(), 1);
}

async fn check_damaged(world: &World, name: &str, what: &str) {
    let refused = get(&world.vault, name).await.expect_err(what);
    assert_eq!(refused.code(), ErrorCode::VaultDamaged, "{what}");
    assert!(refused.to_string().contains(name), "{refused}");
}

async fn every_flipped_byte_is_noticed(world: World) {
    world.set("global/key", "value").await;
    let good = read(&world, "key", 1).await;
    // Nonce and tag and what is between them, in both columns.
    for at in 0..good.0.len() {
        let mut changed = good.clone();
        changed.0[at] ^= 1;
        write(&world, "key", 1, changed).await;
        check_damaged(&world, "global/key", &format!("wrapped key, byte {at}")).await;
    }
    for at in 0..good.1.len() {
        let mut changed = good.clone();
        changed.1[at] ^= 0x80;
        write(&world, "key", 1, changed).await;
        check_damaged(&world, "global/key", &format!("ciphertext, byte {at}")).await;
    }
    for changed in [(Vec::new(), good.1.clone()), (good.0.clone(), Vec::new())] {
        write(&world, "key", 1, changed).await;
        check_damaged(&world, "global/key", "an emptied column").await;
    }
    let reads = world.told("secret.read").await;
    assert!(reads.iter().all(|read| read.contains(" damaged ")), "{reads:?}");
    write(&world, "key", 1, good).await;
    assert_eq!(get(&world.vault, "global/key").await.unwrap(), "value");
}

async fn rows_that_change_places_are_noticed(world: World) {
    world.set("global/a", "value of a").await;
    world.set("global/a", "newer value of a").await;
    world.set("global/b", "value of b").await;
    let (old, new, other) =
        (read(&world, "a", 1).await, read(&world, "a", 2).await, read(&world, "b", 1).await);

    let swaps = [
        ("another name's row", other.clone()),
        ("an older version's row", old.clone()),
        ("another name's key", (other.0.clone(), new.1.clone())),
        ("another name's text", (new.0.clone(), other.1.clone())),
        ("an older version's key", (old.0.clone(), new.1.clone())),
        ("an older version's text", (new.0.clone(), old.1.clone())),
    ];
    for (what, row) in swaps {
        write(&world, "a", 2, row).await;
        check_damaged(&world, "global/a", what).await;
    }
    write(&world, "a", 2, new).await;
    assert_eq!(get(&world.vault, "global/a").await.unwrap(), "newer value of a");
    assert_eq!(get(&world.vault, "global/b").await.unwrap(), "value of b");
}

/// As far as the next start finds out, which reads every value for redaction.
async fn secrets_that_cannot_be_opened_are_named(world: World) {
    for secret in ["global/a", "global/b", "global/c"] {
        world.set(secret, "value").await;
    }
    for name in ["a", "b"] {
        let mut row = read(&world, name, 1).await;
        row.1[30] ^= 1;
        write(&world, name, 1, row).await;
    }
    assert!(world.vault.damaged().await.unwrap().is_empty(), "nobody has looked");
    let vault = world.reopened().await;
    assert_eq!(vault.damaged().await.unwrap(), ["global/a", "global/b"].map(name));
    // What is set again, or deleted, is no longer read; a rotation opens nothing.
    set(&vault, "global/a", "value again").await.unwrap();
    assert_eq!(vault.damaged().await.unwrap(), ["global/b"].map(name));
    vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    let vault = world.reopened().await;
    assert_eq!(vault.damaged().await.unwrap(), ["global/b"].map(name));
    vault.delete(&name("global/b"), &anna()).await.unwrap();
    assert!(vault.damaged().await.unwrap().is_empty());
}
