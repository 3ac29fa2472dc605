//! The key goes away while it is in memory. What is read stays readable; what would be set is not,
//! since nobody could read it after a restart.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use palyra_vault::{KeySource, KeyState, NewMaster, Vault, VaultConfig};

use crate::world::{World, anna, get, name, on_every_engine, set};

const IN_MEMORY: &str = "vault/key_only_in_memory";

on_every_engine!(
    nothing_is_locked_with_a_key_that_the_next_start_would_not_find,
    a_rotation_writes_a_new_key_in_the_place_of_a_lost_one,
    a_copy_that_stands_in_for_a_lost_key_file_is_told_at_once,
    a_lost_key_that_nothing_needs_is_made_anew,
    a_passphrase_file_is_looked_at_too,
    a_new_passphrase_is_used_until_the_next_start,
    the_key_in_memory_is_looked_at_without_the_database,
);

fn write(path: &Path, content: &str, mode: u32) {
    std::fs::write(path, content).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Each secret can be read and none can be set, and this is what is said about it.
async fn check_refused(vault: &Vault, code: &str, what: &str) {
    assert_eq!(get(vault, "global/key").await.unwrap(), "value", "{what}");
    let refusals = [
        vault.check().await.expect_err(what),
        set(vault, "global/key", "another value").await.expect_err(what),
        set(vault, "global/new", "another value").await.expect_err(what),
        vault.check().await.expect_err(what),
    ];
    for refused in refusals {
        let told = refused.envelope();
        assert_eq!(told.code(), code, "{told:?}");
        assert!(told.message().contains(what), "{told:?}");
        assert!(!told.recovery_hint().contains("delete them"), "nothing is lost: {told:?}");
    }
}

async fn check_usable(world: &World, vault: &Vault) {
    assert!(matches!(vault.check().await.unwrap(), KeyState::Usable(_)));
    set(vault, "global/new", "new value").await.unwrap();
    let restarted = world.reopened().await;
    assert_eq!(get(&restarted, "global/key").await.unwrap(), "value");
    assert_eq!(get(&restarted, "global/new").await.unwrap(), "new value");
}

async fn nothing_is_locked_with_a_key_that_the_next_start_would_not_find(world: World) {
    world.set("global/key", "value").await;
    let (file, rows) = (world.key_file(), world.rows().await);
    let right = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    check_refused(&world.vault, IN_MEMORY, "vault.key does not exist").await;
    std::fs::create_dir(&file).unwrap();
    check_refused(&world.vault, IN_MEMORY, "cannot be used").await;
    std::fs::remove_dir(&file).unwrap();
    write(&file, "garbage", 0o600);
    check_refused(&world.vault, IN_MEMORY, "not a key").await;
    write(&file, &"00".repeat(32), 0o600);
    check_refused(&world.vault, IN_MEMORY, "another key is there").await;
    write(&file, &right, 0o644);
    check_refused(&world.vault, "vault/key_exposed", "chmod 600").await;
    assert_eq!(world.rows().await, rows);
    write(&file, &right, 0o600);
    check_usable(&world, &world.vault).await;
}

/// As the hint of the error says.
async fn a_rotation_writes_a_new_key_in_the_place_of_a_lost_one(world: World) {
    world.set("global/key", "value").await;
    // With its folder.
    std::fs::remove_dir_all(world.key_file().parent().unwrap()).unwrap();
    let refused = set(&world.vault, "global/new", "new value").await.unwrap_err().envelope();
    assert!(refused.recovery_hint().contains("`palyra secrets rotate-master`"), "{refused:?}");
    for _ in 0..2 {
        let rotated = world.vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
        assert_eq!(rotated.key_file, Some(world.key_file()));
        let mode = world.key_file().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        check_usable(&world, &world.vault).await;
        // The next time it is open to others.
        std::fs::set_permissions(world.key_file(), PermissionsExt::from_mode(0o644)).unwrap();
        assert!(set(&world.vault, "global/new", "new value").await.is_err());
    }
}

async fn a_copy_that_stands_in_for_a_lost_key_file_is_told_at_once(world: World) {
    world.set("global/key", "value").await;
    let rotated = world.vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    let kept = format!("{}.{}", world.key_file().display(), rotated.key_id);
    std::fs::remove_file(world.key_file()).unwrap();
    let found = world.vault.check().await.unwrap();
    let KeyState::Kept(id, stand_in) = found else { panic!("{found:?}") };
    assert_eq!(id, rotated.key_id);
    assert!(stand_in.advice().contains(&kept), "{stand_in}");
    // The next start finds it there.
    set(&world.vault, "global/new", "new value").await.unwrap();
    assert_eq!(get(&world.reopened().await, "global/new").await.unwrap(), "new value");
    std::fs::remove_file(kept).unwrap();
    check_refused(&world.vault, IN_MEMORY, "vault.key does not exist").await;
}

async fn a_lost_key_that_nothing_needs_is_made_anew(world: World) {
    world.set("global/key", "value").await;
    world.vault.delete(&name("global/key"), &anna()).await.unwrap();
    std::fs::remove_file(world.key_file()).unwrap();
    world.set("global/key", "value").await;
    check_usable(&world, &world.vault).await;
}

fn passphrase(world: &World) -> VaultConfig {
    let passphrase_file = world.folder.path().join("passphrase");
    write(&passphrase_file, "correct horse battery staple\n", 0o600);
    let key_source = KeySource::Passphrase;
    VaultConfig { key_source, passphrase_file, ..VaultConfig::default() }
}

async fn a_passphrase_file_is_looked_at_too(world: World) {
    let config = passphrase(&world);
    let vault = world.vault_with(&config).await;
    set(&vault, "global/key", "value").await.unwrap();
    assert_eq!(set(&vault, "global/key", "value").await.unwrap(), 2);
    std::fs::remove_file(&config.passphrase_file).unwrap();
    check_refused(&vault, IN_MEMORY, "passphrase does not exist").await;
    write(&config.passphrase_file, "incorrect horse\n", 0o600);
    // Turning it into the key takes a while, so that only whoever sets something finds out.
    let refused = set(&vault, "global/key", "value").await.unwrap_err();
    assert_eq!(refused.code().as_str(), IN_MEMORY, "{refused}");
    assert_eq!(vault.check().await.unwrap_err().code().as_str(), IN_MEMORY);
    passphrase(&world);
    assert_eq!(set(&vault, "global/key", "value").await.unwrap(), 3);
    assert!(matches!(vault.check().await.unwrap(), KeyState::Usable(_)));
}

/// Where it is given then, this process cannot know.
async fn a_new_passphrase_is_used_until_the_next_start(world: World) {
    let config = passphrase(&world);
    let from_passphrase = world.vault_with(&config).await;
    for (vault, new) in [(&world.vault, "staple battery"), (&from_passphrase, "horse staple")] {
        set(vault, "global/key", "value").await.unwrap();
        vault.rotate_master(NewMaster::Passphrase(new.into()), &anna()).await.unwrap();
        assert!(matches!(vault.check().await.unwrap(), KeyState::Usable(_)));
        set(vault, "global/key", new).await.unwrap();
        write(&config.passphrase_file, new, 0o600);
        assert_eq!(get(&world.vault_with(&config).await, "global/key").await.unwrap(), new);
    }
}

async fn the_key_in_memory_is_looked_at_without_the_database(world: World) {
    assert_eq!(world.vault.check_held().await.unwrap(), None);
    world.set("global/key", "value").await;
    let from_passphrase = world.vault_with(&passphrase(&world)).await;
    assert_eq!(from_passphrase.check_held().await.unwrap(), None, "it could not be had");
    let usable = world.vault.check().await.unwrap();
    let (file, away) = (world.key_file(), world.folder.path().join("away"));
    world.db.close().await;
    assert!(world.vault.check().await.is_err());
    assert_eq!(world.vault.check_held().await.unwrap(), Some(usable.clone()));
    std::fs::rename(&file, &away).unwrap();
    let lost = world.vault.check_held().await.unwrap_err().envelope();
    assert_eq!(lost.code(), IN_MEMORY, "{lost:?}");
    std::fs::rename(&away, &file).unwrap();
    assert_eq!(world.vault.check_held().await.unwrap(), Some(usable));
}
