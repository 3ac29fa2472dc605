//! Changing the master key.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::{Database, Sql, Tx, params, sql};
use palyra_vault::{KEYS_KEPT, KeySource, NewMaster, NextStep, VaultConfig};

use crate::world::{START, World, anna, get, on_every_engine, set};

on_every_engine!(
    a_new_key_opens_everything_and_the_old_one_nothing,
    a_backup_from_before_a_rotation_finds_its_key,
    only_the_last_old_keys_are_kept,
    a_new_passphrase_takes_over,
    a_new_command_takes_over,
    a_damaged_secret_stops_a_rotation_before_it_changes_anything,
    another_node_finds_the_new_key,
    rotations_and_sets_at_the_same_time_lose_nothing,
);

async fn a_new_key_opens_everything_and_the_old_one_nothing(world: World) {
    world.set("global/a", "value of a").await;
    world.set("global/a", "newer value of a").await;
    world.set("skill:s/b", "value of b").await;
    let (before, old_key) = (world.rows().await, std::fs::read(world.key_file()).unwrap());

    let rotated = world.vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    assert_eq!((rotated.versions, rotated.next), (3, NextStep::Nothing));
    let after = world.rows().await;
    for row in 0..3 {
        let text = |rows: &[String]| rows[row].rsplit_once(", [").unwrap().1.to_owned();
        assert_eq!(text(&before), text(&after), "values are not touched");
        assert_ne!(before[row], after[row]);
        assert!(after[row].contains(rotated.key_id.as_str()));
    }
    let vault = world.reopened().await;
    for vault in [&world.vault, &vault] {
        assert_eq!(get(vault, "global/a").await.unwrap(), "newer value of a");
        assert_eq!(get(vault, "skill:s/b").await.unwrap(), "value of b");
    }
    assert_eq!(set(&vault, "global/a", "newest value of a").await.unwrap(), 3);
    let told = world.told("vault.master_rotated").await;
    assert!(told[0].starts_with(&format!("operator:anna vault-key:{} ok", rotated.key_id)));
    let (kept_old, kept) =
        (kept(&world, rotated.old_key_id.as_str()), kept(&world, rotated.key_id.as_str()));
    assert_eq!(rotated.key_file, Some(world.key_file()));
    assert_eq!(rotated.old_key_file.as_ref(), Some(&kept_old));
    assert_eq!(std::fs::read(&kept_old).unwrap(), old_key, "older backups need it");
    assert_eq!(key_files(&world), 3, "both are kept, and none waits");
    for file in [&world.key_file(), &kept, &kept_old] {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    std::fs::write(world.key_file(), old_key).unwrap();
    assert_eq!(get(&world.reopened().await, "skill:s/b").await.unwrap(), "value of b", "by its id");
    std::fs::remove_file(kept).unwrap();
    let refused = get(&world.reopened().await, "global/a").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::VaultWrongKey);
    for told in [rotated.key_id.as_str(), &world.key_file().display().to_string(), "nothing else"] {
        assert!(refused.to_string().contains(told), "{refused}");
    }
}

fn kept(world: &World, id: &str) -> PathBuf {
    PathBuf::from(format!("{}.{id}", world.key_file().display()))
}

fn key_files(world: &World) -> usize {
    world.key_file().parent().unwrap().read_dir().unwrap().count()
}

const WRAPPED: Sql = sql!("SELECT wrapped_key FROM secrets");
const UNDO_SECRET: Sql = sql!("UPDATE secrets SET key_id = $1, wrapped_key = $2");
pub(crate) const UNDO_NEW: Sql = sql!("UPDATE vault_keys SET in_use = NULL WHERE in_use = 1");
pub(crate) const UNDO_OLD: Sql =
    sql!("UPDATE vault_keys SET in_use = 1, retired_at = NULL WHERE id = $1");

/// The rows are as they were before, and the key file is not.
async fn a_backup_from_before_a_rotation_finds_its_key(world: World) {
    world.set("global/a", "value of a").await;
    let read = |tx: &mut Tx<'_>| tx.query_one(&WRAPPED, params![], |row| row.get::<Vec<u8>>(0));
    let wrapped = world.db.read(read).await.unwrap();
    let rotated = world.vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    let old = rotated.old_key_id.to_string();
    let undo = move |tx: &mut Tx<'_>| {
        tx.execute(&UNDO_SECRET, params![old.as_str(), wrapped.as_slice()])?;
        tx.execute(&UNDO_NEW, params![])?;
        tx.execute(&UNDO_OLD, params![old.as_str()])
    };
    assert_eq!(world.db.write(undo).await.unwrap(), 1);
    let restored = world.reopened().await;
    assert_eq!(get(&restored, "global/a").await.unwrap(), "value of a");
    // From there on it goes on, and the key of the newer backups stays as well.
    restored.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    assert_eq!(get(&world.reopened().await, "global/a").await.unwrap(), "value of a");
    assert!(kept(&world, rotated.key_id.as_str()).exists());
}

async fn only_the_last_old_keys_are_kept(world: World) {
    world.set("global/a", "value of a").await;
    let foreign = kept(&world, &"f".repeat(32));
    std::fs::write(&foreign, "of another database").unwrap();
    let mut old = Vec::new();
    for at in 1..=KEYS_KEPT + 2 {
        world.clock.advance(Duration::from_secs(1));
        let rotated = world.vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
        old.push(kept(&world, rotated.old_key_id.as_str()));
        // It is told before it is gone, as long as it can be copied.
        let told = rotated.goes_next.map(|goes| goes.file.unwrap());
        assert_eq!(told.as_ref(), at.checked_sub(KEYS_KEPT).map(|oldest| &old[oldest]));
        assert!(told.is_none_or(|file| file.exists()));
    }
    let (gone, stay) = old.split_at(2);
    assert!(gone.iter().all(|file| !file.exists()), "{gone:?}");
    assert!(stay.iter().all(|file| file.exists()), "{stay:?}");
    assert!(foreign.exists(), "it may be of a newer backup");
    // A clock that was put back does not make the key of just now an old one.
    world.clock.set(START);
    let rotated = world.vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    assert!(rotated.old_key_file.unwrap().exists());
    assert_eq!(get(&world.reopened().await, "global/a").await.unwrap(), "value of a");
}

async fn a_new_passphrase_takes_over(world: World) {
    world.set("global/a", "value of a").await;
    let new = NewMaster::Passphrase("correct horse".into());
    let rotated = world.vault.rotate_master(new, &anna()).await.unwrap();
    assert_eq!(rotated.next, NextStep::GivePassphrase);
    assert_eq!(get(&world.vault, "global/a").await.unwrap(), "value of a");
    let refused = get(&world.reopened().await, "global/a").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::VaultWrongKey);
    assert!(refused.to_string().contains("came from a passphrase"), "{refused}");
    let passphrase_file = world.folder.path().join("passphrase");
    std::fs::write(&passphrase_file, "correct horse\n").unwrap();
    std::fs::set_permissions(&passphrase_file, PermissionsExt::from_mode(0o600)).unwrap();
    let config = VaultConfig { passphrase_file, ..VaultConfig::default() };
    let vault = world.vault_with(&config).await;
    assert_eq!(get(&vault, "global/a").await.unwrap(), "value of a");
    // A file cannot be changed that is not there.
    let refused = vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CommonInvalidInput);
    // Its file would give back another one, or none.
    for wrong in ["", "abc\r", "two\nlines", &"x".repeat(4_001)] {
        let new = NewMaster::Passphrase(wrong.into());
        let refused = vault.rotate_master(new, &anna()).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::CommonInvalidInput, "{wrong:?}");
    }
}

async fn a_new_command_takes_over(world: World) {
    world.set("global/a", "value of a").await;
    let printing = |key: &str| ["printf", "%s", key].map(str::to_owned).to_vec();
    let (one, two) = (printing(&"0f".repeat(32)), printing(&"f0".repeat(32)));
    let rotate = async |argv: &Vec<String>| {
        world.vault.rotate_master(NewMaster::Command(argv.clone()), &anna()).await
    };
    assert_eq!(rotate(&one).await.unwrap().next, NextStep::GiveCommand);
    let same = rotate(&one).await.unwrap_err();
    assert_eq!(same.code(), ErrorCode::CommonInvalidInput, "{same}");
    assert_eq!(rotate(&printing("none")).await.unwrap_err().code(), ErrorCode::VaultNoKey);
    rotate(&two).await.unwrap();
    let with = |key_command| VaultConfig {
        key_source: KeySource::Command,
        key_command,
        ..VaultConfig::default()
    };
    let vault = world.vault_with(&with(two)).await;
    assert_eq!(get(&vault, "global/a").await.unwrap(), "value of a");
    let refused = get(&world.vault_with(&with(one)).await, "global/a").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::VaultWrongKey);
}

const CLEAR: Sql = sql!("UPDATE secrets SET wrapped_key = ciphertext WHERE name = 'b'");

async fn a_damaged_secret_stops_a_rotation_before_it_changes_anything(world: World) {
    world.set("global/a", "value of a").await;
    world.set("global/b", "value of b").await;
    world.execute(&CLEAR).await;
    let rows = world.rows().await;
    let refused = world.vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::VaultDamaged);
    assert!(refused.to_string().contains("global/b"), "{refused}");
    assert_eq!(world.rows().await, rows);
    assert_eq!(get(&world.reopened().await, "global/a").await.unwrap(), "value of a");
    assert_eq!(key_files(&world), 2, "the unused key is gone");
}

async fn another_node_finds_the_new_key(world: World) {
    world.set("global/a", "value of a").await;
    let db = match &world.postgres {
        Some(_) => Database::open(world.options.clone()).await.unwrap(),
        None => world.db.clone(),
    };
    let other = world.vault_on(&db, &world.config).await;
    // A node on another machine has a copy of the file.
    let copy = world.folder.path().join("copy.key");
    std::fs::copy(world.key_file(), &copy).unwrap();
    let elsewhere = VaultConfig { key_file: copy.clone(), ..world.config.clone() };
    let elsewhere = world.vault_on(&db, &elsewhere).await;

    world.vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    assert_eq!(get(&other, "global/a").await.unwrap(), "value of a");
    assert_eq!(set(&other, "global/a", "newer").await.unwrap(), 2);
    for refused in [
        get(&elsewhere, "global/a").await.unwrap_err(),
        set(&elsewhere, "global/a", "value").await.unwrap_err(),
    ] {
        assert_eq!(refused.code(), ErrorCode::VaultWrongKey);
    }
    std::fs::copy(world.key_file(), &copy).unwrap();
    assert_eq!(get(&elsewhere, "global/a").await.unwrap(), "newer");
}

async fn rotations_and_sets_at_the_same_time_lose_nothing(world: World) {
    world.set("global/0", "value 0").await;
    let other = world.reopened().await;
    let mut work = tokio::task::JoinSet::new();
    for vault in [world.vault.clone(), other.clone()] {
        work.spawn(async move {
            for _ in 0..5 {
                match vault.rotate_master(NewMaster::Generated, &anna()).await {
                    Ok(_) => {}
                    Err(error) => assert_eq!(error.code(), ErrorCode::CommonConflict, "{error:?}"),
                }
            }
        });
    }
    for at in 1..=20 {
        let vault = if at % 2 == 0 { world.vault.clone() } else { other.clone() };
        work.spawn(async move {
            let secret = format!("global/{at}");
            // Whoever meets a change after a change is told so, and asks again.
            while let Err(error) = set(&vault, &secret, &format!("value {at}")).await {
                assert_eq!(error.code(), ErrorCode::CommonConflict, "{error:?}");
            }
        });
    }
    work.join_all().await;
    for vault in [&world.vault, &other, &world.reopened().await] {
        for at in 0..=20 {
            assert_eq!(get(vault, &format!("global/{at}")).await.unwrap(), format!("value {at}"));
        }
    }
}
