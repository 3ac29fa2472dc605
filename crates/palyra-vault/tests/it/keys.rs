//! Without the key, with a wrong one, and with one from each source.

use std::os::unix::fs::PermissionsExt;

use palyra_common::error::ErrorCode;
use palyra_storage::describe;
use palyra_vault::{KeySource, Vault, VaultConfig};

use crate::world::{World, anna, get, name, on_every_engine, set};

on_every_engine!(
    without_its_key_a_vault_opens_and_says_so,
    a_wrong_key_changes_nothing,
    an_exposed_key_file_is_refused,
    a_lost_key_loses_the_secrets_and_nothing_else,
    a_key_from_a_passphrase_is_found_again,
    a_key_from_a_command_is_found_again,
);

async fn check_refused(vault: &Vault, code: ErrorCode, what: &str) {
    let refusals = [
        get(vault, "global/key").await.unwrap_err(),
        set(vault, "global/key", "another value").await.unwrap_err(),
        set(vault, "global/new", "another value").await.unwrap_err(),
        vault.rotate_master(palyra_vault::NewMaster::Generated, &anna()).await.unwrap_err(),
        vault.check().await.unwrap_err(),
    ];
    for refused in refusals {
        assert_eq!(refused.code(), code, "{refused:?}");
        let told = describe(&refused);
        assert!(told.contains(what), "{told}");
    }
    assert_eq!(vault.list().await.unwrap().len(), 1, "names need no key");
}

async fn without_its_key_a_vault_opens_and_says_so(world: World) {
    world.set("global/key", "value").await;
    let rows = world.rows().await;
    let away = world.folder.path().join("away");
    std::fs::rename(world.key_file(), &away).unwrap();
    let vault = world.reopened().await;
    check_refused(&vault, ErrorCode::VaultNoKey, "vault.key does not exist").await;
    assert!(!world.key_file().exists(), "no new key is made while secrets need the old one");
    assert_eq!(world.rows().await, rows);
    // Once the key is back everything works, without a restart.
    std::fs::rename(&away, world.key_file()).unwrap();
    assert_eq!(get(&vault, "global/key").await.unwrap(), "value");
}

async fn a_wrong_key_changes_nothing(world: World) {
    world.set("global/key", "value").await;
    let rows = world.rows().await;
    let good = std::fs::read(world.key_file()).unwrap();
    std::fs::write(world.key_file(), "00".repeat(32)).unwrap();
    let vault = world.reopened().await;
    check_refused(&vault, ErrorCode::VaultWrongKey, "is not the one").await;
    assert_eq!(world.rows().await, rows);
    std::fs::write(world.key_file(), good).unwrap();
    assert_eq!(get(&vault, "global/key").await.unwrap(), "value");
}

async fn an_exposed_key_file_is_refused(world: World) {
    world.set("global/key", "value").await;
    let mode = |mode| std::fs::set_permissions(world.key_file(), PermissionsExt::from_mode(mode));
    mode(0o644).unwrap();
    check_refused(&world.reopened().await, ErrorCode::VaultNoKey, "chmod 600").await;
    mode(0o600).unwrap();
    assert_eq!(get(&world.reopened().await, "global/key").await.unwrap(), "value");
}

/// As the hint of the error says: delete them and set them again.
async fn a_lost_key_loses_the_secrets_and_nothing_else(world: World) {
    world.set("global/key", "value").await;
    std::fs::remove_file(world.key_file()).unwrap();
    let vault = world.reopened().await;
    let lost = get(&vault, "global/key").await.unwrap_err();
    assert!(lost.envelope().recovery_hint().contains("delete them and set them again"));
    vault.delete(&name("global/key"), &anna()).await.unwrap();
    set(&vault, "global/key", "value again").await.unwrap();
    assert_eq!(get(&vault, "global/key").await.unwrap(), "value again");
    assert_eq!(get(&world.reopened().await, "global/key").await.unwrap(), "value again");
    // The node that still has the old key in memory finds the new one.
    assert_eq!(get(&world.vault, "global/key").await.unwrap(), "value again");
}

async fn a_key_from_a_passphrase_is_found_again(world: World) {
    let passphrase_file = world.folder.path().join("passphrase");
    let write = |text: &str| {
        std::fs::write(&passphrase_file, text).unwrap();
        std::fs::set_permissions(&passphrase_file, PermissionsExt::from_mode(0o600)).unwrap();
    };
    write("correct horse battery staple\n");
    let config = VaultConfig {
        key_source: KeySource::Passphrase,
        passphrase_file: passphrase_file.clone(),
        ..VaultConfig::default()
    };
    set(&world.vault_with(&config).await, "global/key", "value").await.unwrap();
    assert_eq!(get(&world.vault_with(&config).await, "global/key").await.unwrap(), "value");
    let auto = VaultConfig { key_source: KeySource::Auto, ..config.clone() };
    assert_eq!(get(&world.vault_with(&auto).await, "global/key").await.unwrap(), "value");
    write("incorrect horse\n");
    let vault = world.vault_with(&config).await;
    assert_eq!(get(&vault, "global/key").await.unwrap_err().code(), ErrorCode::VaultWrongKey);
    std::fs::remove_file(&passphrase_file).unwrap();
    assert_eq!(get(&vault, "global/key").await.unwrap_err().code(), ErrorCode::VaultNoKey);
}

async fn a_key_from_a_command_is_found_again(world: World) {
    let printing = |key: &str| VaultConfig {
        key_source: KeySource::Command,
        key_command: vec!["printf".into(), "%s".into(), key.into()],
        ..VaultConfig::default()
    };
    let (right, wrong) = (printing(&"0f".repeat(32)), printing(&"f0".repeat(32)));
    set(&world.vault_with(&right).await, "global/key", "value").await.unwrap();
    assert_eq!(get(&world.vault_with(&right).await, "global/key").await.unwrap(), "value");
    let auto = VaultConfig { key_source: KeySource::Auto, ..right };
    assert_eq!(get(&world.vault_with(&auto).await, "global/key").await.unwrap(), "value");
    let refused = get(&world.vault_with(&wrong).await, "global/key").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::VaultWrongKey);
    let none = get(&world.vault_with(&printing("none")).await, "global/key").await.unwrap_err();
    assert_eq!(none.code(), ErrorCode::VaultNoKey);
}
