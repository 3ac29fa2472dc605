//! The key file after a rotation, which keeps a copy of the key beside it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use palyra_common::error::ErrorCode;
use palyra_testkit::fs::SmallDisk;
use palyra_vault::{KeyState, NewMaster, NextStep, Rotated, Vault, VaultConfig};

use crate::world::{World, anna, get, on_every_engine, set};

on_every_engine!(
    an_exposed_key_file_is_refused_though_there_is_a_copy,
    a_copy_that_is_used_in_place_of_the_key_file_is_told,
    an_exposed_copy_is_not_used,
    a_full_disk_stops_a_rotation_and_nothing_else,
    a_key_that_could_not_take_its_place_is_told_and_takes_it_later,
);

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

async fn rotated(world: &World) -> (Rotated, PathBuf) {
    world.set("global/key", "value").await;
    rotated_again(world).await
}

async fn rotated_again(world: &World) -> (Rotated, PathBuf) {
    let rotated = world.vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    let kept = format!("{}.{}", world.key_file().display(), rotated.key_id).into();
    (rotated, kept)
}

async fn an_exposed_key_file_is_refused_though_there_is_a_copy(world: World) {
    rotated(&world).await;
    for exposed in [0o666, 0o640, 0o602] {
        mode(&world.key_file(), exposed);
        let vault = world.reopened().await;
        for refused in
            [get(&vault, "global/key").await.unwrap_err(), vault.check().await.unwrap_err()]
        {
            assert_eq!(refused.code(), ErrorCode::VaultKeyExposed, "{exposed:o} {refused}");
        }
        mode(&world.key_file(), 0o600);
        assert_eq!(get(&vault, "global/key").await.unwrap(), "value");
    }
}

async fn check_told(vault: &Vault, key_file: &Path, kept: &Path, what: &str) {
    assert_eq!(get(vault, "global/key").await.unwrap(), "value", "{what}");
    vault.check().await.unwrap();
    let (told, key_file, kept) = (vault.key_source(), key_file.display(), kept.display());
    let expected =
        format!("the file {kept} instead of the key file {key_file}, which {what}; copy it there");
    assert_eq!(told, expected);
}

async fn a_copy_that_is_used_in_place_of_the_key_file_is_told(world: World) {
    let (_, kept) = rotated(&world).await;
    let (file, usual) = (world.key_file(), world.vault.key_source());
    let wrong = |content: &str| {
        std::fs::write(&file, content).unwrap();
        mode(&file, 0o600);
    };
    std::fs::remove_file(&file).unwrap();
    check_told(&world.reopened().await, &file, &kept, "does not exist").await;
    wrong("garbage");
    check_told(&world.reopened().await, &file, &kept, "does not hold a key").await;
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    check_told(&world.reopened().await, &file, &kept, "cannot be read").await;
    std::fs::remove_dir(&file).unwrap();
    wrong(&"00".repeat(32));
    let vault = world.reopened().await;
    check_told(&vault, &file, &kept, "holds another key").await;
    // What is found out is how it is now, without a restart.
    std::fs::remove_file(&file).unwrap();
    check_told(&vault, &file, &kept, "does not exist").await;
    std::fs::copy(&kept, &file).unwrap();
    vault.check().await.unwrap();
    assert_eq!(vault.key_source(), usual);
    assert_eq!(world.reopened().await.key_source(), usual);

    // A new key is in its place, and nothing is left to tell.
    std::fs::remove_file(&file).unwrap();
    let vault = world.reopened().await;
    vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    vault.check().await.unwrap();
    assert_eq!(vault.key_source(), usual);
}

async fn an_exposed_copy_is_not_used(world: World) {
    let (_, kept) = rotated(&world).await;
    std::fs::remove_file(world.key_file()).unwrap();
    mode(&kept, 0o644);
    let vault = world.reopened().await;
    let refused = get(&vault, "global/key").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::VaultKeyExposed, "{refused}");
    let told = refused.envelope();
    assert!(told.message().contains(&kept.display().to_string()), "{told:?}");
    mode(&kept, 0o600);
    assert_eq!(get(&vault, "global/key").await.unwrap(), "value");
}

async fn a_key_that_could_not_take_its_place_is_told_and_takes_it_later(world: World) {
    world.set("global/key", "value").await;
    let file = world.key_file();
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let (rotated, kept) = rotated_again(&world).await;
    let NextStep::PutInPlace(stand_in) = rotated.next else { panic!("{rotated:?}") };
    assert_eq!((stand_in.file(), rotated.key_file.as_ref()), (Some(&*kept), Some(&kept)));
    let expected = KeyState::Kept(rotated.key_id.clone(), stand_in);
    for vault in [&world.vault, &world.reopened().await] {
        let before = names(file.parent().unwrap());
        assert_eq!(vault.check().await.unwrap(), expected);
        set(vault, "global/other", "a start finds its key").await.unwrap();
        assert_eq!(names(file.parent().unwrap()), before, "and leaves nothing behind");
    }
    std::fs::remove_dir(&file).unwrap();
    let usable = KeyState::Usable(rotated.key_id);
    assert_eq!(world.vault.check().await.unwrap(), usable);
    assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(kept).unwrap());
    assert_eq!(world.reopened().await.check().await.unwrap(), usable);
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

async fn a_full_disk_stops_a_rotation_and_nothing_else(world: World) {
    let Some(disk) = SmallDisk::mount(1 << 20).unwrap() else { return };
    let (folder, filler) = (disk.path().join("keys"), disk.path().join("filler"));
    let key_file = folder.join("vault.key");
    let config = VaultConfig { key_file: key_file.clone(), ..world.config.clone() };
    // As much as fits; the rest does not matter.
    let fill = || drop(std::fs::write(&filler, vec![0u8; 2 << 20]));
    let vault = world.vault_with(&config).await;
    std::fs::create_dir(&folder).unwrap();
    fill();
    let refused = set(&vault, "global/key", "value").await.unwrap_err();
    check_not_written(&refused.envelope(), &folder);
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
    std::fs::remove_file(&filler).unwrap();
    set(&vault, "global/key", "value").await.unwrap();
    for _ in 0..2 {
        let before = names(&folder);
        fill();
        let refused = vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap_err();
        check_not_written(&refused.envelope(), &folder);
        assert_eq!(names(&folder), before, "nothing is left behind");
        assert_eq!(get(&world.vault_with(&config).await, "global/key").await.unwrap(), "value");
        std::fs::remove_file(&filler).unwrap();
        // The second time the key in use is kept already, and the next one does not fit.
        vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    }
    assert_eq!(get(&world.vault_with(&config).await, "global/key").await.unwrap(), "value");
}

fn check_not_written(told: &palyra_common::error::StableErrorEnvelope, folder: &Path) {
    assert_eq!(told.code(), "vault/key_not_written", "{told:?}");
    assert!(told.message().contains(&folder.display().to_string()), "{told:?}");
    assert!(told.recovery_hint().contains("Free space"), "{told:?}");
    assert!(!told.recovery_hint().contains("delete them"), "{told:?}");
}
