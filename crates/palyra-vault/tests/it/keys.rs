//! Without the key, with a wrong one, and with one from each source.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_storage::describe;
use palyra_vault::{KeySource, PAGE_LIMIT, Vault, VaultConfig};

use crate::world::{World, anna, get, name, on_every_engine, set};

on_every_engine!(
    without_its_key_a_vault_opens_and_says_so,
    a_wrong_key_changes_nothing,
    an_exposed_key_file_is_refused,
    a_lost_key_loses_the_secrets_and_nothing_else,
    a_key_from_a_passphrase_is_found_again,
    a_key_from_a_command_is_found_again,
    a_key_from_another_source_is_told_with_what_gives_it,
    checking_again_and_again_asks_the_source_once,
    a_command_is_not_run_again_for_a_key_in_memory,
    a_check_that_nobody_waits_for_is_no_reason_to_ask_again,
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
    assert_eq!(vault.list(None, PAGE_LIMIT).await.unwrap().secrets.len(), 1, "names need no key");
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
    check_refused(&world.reopened().await, ErrorCode::VaultKeyExposed, "chmod 600").await;
    let told = world.reopened().await.check().await.unwrap_err().envelope();
    assert!(!told.message().contains("lost"), "it is there: {told:?}");
    assert!(told.recovery_hint().contains("chmod 600"), "{told:?}");
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

/// A daemon that was started without its passphrase has no use for a key file.
async fn a_key_from_another_source_is_told_with_what_gives_it(world: World) {
    let passphrase_file = world.folder.path().join("passphrase");
    std::fs::write(&passphrase_file, "correct horse battery staple\n").unwrap();
    std::fs::set_permissions(&passphrase_file, PermissionsExt::from_mode(0o600)).unwrap();
    let key_source = KeySource::Passphrase;
    let config = VaultConfig { key_source, passphrase_file, ..VaultConfig::default() };
    set(&world.vault_with(&config).await, "global/key", "value").await.unwrap();

    let key_file = world.folder.path().join("absent.key");
    let other = VaultConfig { key_source: KeySource::File, key_file, ..VaultConfig::default() };
    let what = "PALYRA_VAULT_PASSPHRASE or vault.passphrase_file";
    let refused = get(&world.vault_with(&other).await, "global/key").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::VaultNoKey);
    let told = describe(&refused);
    assert!(told.contains(what) && !told.contains("bring it back"), "{told}");
    std::fs::write(&other.key_file, "00".repeat(32)).unwrap();
    std::fs::set_permissions(&other.key_file, PermissionsExt::from_mode(0o600)).unwrap();
    let refused = get(&world.vault_with(&other).await, "global/key").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::VaultWrongKey);
    assert!(describe(&refused).contains(what), "{refused}");
}

/// A program that counts its starts and then does what `body` says.
struct Counted {
    program: PathBuf,
    starts: PathBuf,
}

impl Counted {
    fn new(world: &World, body: &str) -> Self {
        let (program, starts) =
            (world.folder.path().join("get-key"), world.folder.path().join("starts"));
        let counted = Self { program, starts };
        counted.now_does(body);
        counted
    }

    fn now_does(&self, body: &str) {
        let script = format!("#!/bin/sh\necho >> '{}'\n{body}\n", self.starts.display());
        // Not written in place: it may be running.
        let draft = self.program.with_extension("draft");
        std::fs::write(&draft, script).unwrap();
        std::fs::set_permissions(&draft, PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::rename(draft, &self.program).unwrap();
    }

    fn config(&self) -> VaultConfig {
        let key_command = vec![self.program.display().to_string()];
        VaultConfig { key_source: KeySource::Command, key_command, ..VaultConfig::default() }
    }

    fn starts(&self) -> usize {
        std::fs::read_to_string(&self.starts).unwrap_or_default().len()
    }
}

/// Anybody may have it checked, by asking whether the daemon is ready.
async fn checking_again_and_again_asks_the_source_once(world: World) {
    let key = format!("printf %s {}", "0f".repeat(32));
    let source = Counted::new(&world, &key);
    set(&world.vault_with(&source.config()).await, "global/key", "value").await.unwrap();
    source.now_does("exit 1");
    let vault = world.vault_with(&source.config()).await;
    let asked = source.starts();
    for _ in 0..20 {
        assert_eq!(vault.check().await.unwrap_err().code(), ErrorCode::VaultNoKey);
        world.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(source.starts(), asked, "opening has asked already");
    assert_eq!(vault.failed_at(), Some(crate::world::START), "and that is when it was seen");
    world.clock.advance(Duration::from_secs(10));
    source.now_does(&format!("printf %s {}", "f0".repeat(32)));
    for _ in 0..5 {
        let wrong = vault.check().await.unwrap_err();
        assert_eq!(wrong.code(), ErrorCode::VaultWrongKey);
        let hint = wrong.envelope().recovery_hint().to_owned();
        assert!(hint.contains("beside the key file or in the keyring"), "{hint}");
    }
    assert_eq!(source.starts(), asked + 1, "once more, and a wrong key is remembered as well");

    // Whoever needs the key asks for it, and what they are told is what the next check tells.
    source.now_does("exit 1");
    assert_eq!(get(&vault, "global/key").await.unwrap_err().code(), ErrorCode::VaultNoKey);
    assert_eq!(vault.check().await.unwrap_err().code(), ErrorCode::VaultNoKey);
    assert_eq!(source.starts(), asked + 2);
    source.now_does(&key);
    assert_eq!(get(&vault, "global/key").await.unwrap(), "value");
    assert!(vault.check().await.is_ok());
    assert_eq!(vault.failed_at(), None);
    assert_eq!(source.starts(), asked + 3);
    // A clock that is put back keeps nobody waiting.
    source.now_does("exit 1");
    let vault = world.vault_with(&source.config()).await;
    source.now_does(&key);
    world.clock.set(crate::world::START);
    assert!(vault.check().await.is_ok());
}

/// It may ask somebody each time.
async fn a_command_is_not_run_again_for_a_key_in_memory(world: World) {
    let source = Counted::new(&world, &format!("printf %s {}", "0f".repeat(32)));
    let vault = world.vault_with(&source.config()).await;
    set(&vault, "global/key", "value").await.unwrap();
    let asked = source.starts();
    for _ in 0..3 {
        set(&vault, "global/key", "value").await.unwrap();
        vault.check().await.unwrap();
    }
    assert_eq!(source.starts(), asked);
}

/// As with a daemon whose patience is shorter than that of the source.
async fn a_check_that_nobody_waits_for_is_no_reason_to_ask_again(world: World) {
    let source = Counted::new(&world, &format!("printf %s {}", "0f".repeat(32)));
    set(&world.vault_with(&source.config()).await, "global/key", "value").await.unwrap();
    source.now_does("exit 1");
    let vault = world.vault_with(&source.config()).await;
    world.clock.advance(Duration::from_secs(60));
    let (asked, go) = (source.starts(), world.folder.path().join("go"));
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.02; done; exit 1", go.display());
    source.now_does(&wait);
    for _ in 0..3 {
        let checking = vault.check();
        let patience = async {
            while source.starts() == asked {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            done = checking => panic!("{done:?}"),
            () = patience => {}
        }
    }
    std::fs::write(go, "").unwrap();
    assert_eq!(vault.check().await.unwrap_err().code(), ErrorCode::VaultNoKey);
    assert_eq!(source.starts(), asked + 1);
}
