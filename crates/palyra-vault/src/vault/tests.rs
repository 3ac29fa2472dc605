//! What happens between two steps, where no caller can look.

mod on_postgres;

use std::os::unix::fs::PermissionsExt;

use palyra_storage::{OpenOptions, SystemClock};

use super::*;
use crate::config::{KeySource, VaultConfig};
use crate::source::file;

async fn vault_in(folder: &std::path::Path) -> Vault {
    let db = Database::open(OpenOptions::in_directory(folder.join("data"))).await.unwrap();
    vault_on(db, folder).await
}

async fn vault_on(db: Database, folder: &std::path::Path) -> Vault {
    let key_file = folder.join("vault.key");
    let config = VaultConfig { key_source: KeySource::File, key_file, ..VaultConfig::default() };
    let clock = Arc::new(SystemClock);
    Vault::open(db, clock, &config, folder, Redactor::new()).await.unwrap()
}

/// A node that has fetched the key, and is overtaken by a rotation before it writes, must not lock
/// anything with a key that is no longer in use.
#[tokio::test]
async fn nothing_is_locked_with_a_key_of_the_past() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault_in(folder.path()).await;
    let name: SecretName = "global/key".parse().unwrap();
    let by = Actor { by: Principal::owner(), credential: None, origin: "test".into() };
    vault.set(&name, "first value".into(), &by).await.unwrap();
    let (old, stored) = (vault.held().unwrap(), vault.stored_of_held().unwrap());
    let stored = stored.as_ref().clone();
    vault.rotate_master(NewMaster::Generated, &by).await.unwrap();

    let entry = vault.entry("secret.set", audit::subject(&name), &by);
    let (key, secret) = (old.clone(), name.clone());
    let late = move |tx: &mut Tx<'_>| put(tx, &key, &secret, &"late value".into(), None, &entry);
    assert!(matches!(
        vault.0.db.try_write::<_, VaultError, _>(late).await.unwrap(),
        Tried::OtherKey
    ));

    // One that reads finds the new key.
    let reading = Use { by: Principal::owner(), purpose: "test".into(), origin: "test".into() };
    vault.hold(old, stored);
    assert_eq!(vault.get(&name, &reading).await.unwrap().expose(), "first value");
    assert_eq!(vault.list(None, PAGE_LIMIT).await.unwrap().secrets[0].versions.len(), 1);
}

fn anna() -> Actor {
    Actor { by: Principal::owner(), credential: None, origin: "test".into() }
}

async fn rotate(vault: &Vault) {
    vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
}

/// A node reads which key is in use; before it looks for that key, another node has changed it once
/// more. The key file holds the newest, which is not a wrong one.
async fn is_overtaken_between_two_looks(db: Database, folder: &std::path::Path) {
    let (vault, slow) = (vault_on(db.clone(), folder).await, vault_on(db.clone(), folder).await);
    let name: SecretName = "global/key".parse().unwrap();
    vault.set(&name, "first value".into(), &anna()).await.unwrap();
    rotate(&vault).await;
    let read = db.read(vault_keys::in_use).await.unwrap().unwrap();
    rotate(&vault).await;
    // As on a machine that gets only the key file.
    let path = folder.join("vault.key");
    std::fs::remove_file(file::kept(&path, &read.id)).unwrap();
    let found =
        slow.current(read.clone(), Purpose::Open).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(found.id, vault.held().unwrap().id);
    // Without the key it is told as it is.
    std::fs::write(&path, "00".repeat(32)).unwrap();
    std::fs::remove_file(file::kept(&path, &found.id)).unwrap();
    let lost = vault_on(db, folder).await.current(read, Purpose::Open).await;
    assert!(matches!(lost, Err(VaultError::WrongKey { .. })));
}

#[tokio::test]
async fn a_key_that_was_overtaken_is_no_wrong_one_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions::in_directory(folder.path().join("data"));
    let db = Database::open(options).await.unwrap();
    is_overtaken_between_two_looks(db, folder.path()).await;
}

/// Two rotations begin with the same key. The first one is killed after its commit, so the key in
/// use waits beside the old one; the second one is refused, and must not clear it away.
async fn a_refused_rotation_clears_only_its_own_key(db: Database, folder: &std::path::Path) {
    let (first, second) = (vault_on(db.clone(), folder).await, vault_on(db.clone(), folder).await);
    let (name, path) = ("global/key".parse().unwrap(), folder.join("vault.key"));
    first.set(&name, "first value".into(), &anna()).await.unwrap();
    let (old, old_bytes) = (second.load().await.unwrap(), std::fs::read(&path).unwrap());
    rotate(&first).await;
    let in_use = first.held().unwrap();
    std::fs::rename(&path, file::pending(&path, &in_use.id)).unwrap();
    std::fs::remove_file(file::kept(&path, &in_use.id)).unwrap();
    std::fs::write(&path, old_bytes).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();

    let refused = second.replace(old, NewMaster::Generated, None, &anna()).await;
    assert!(matches!(refused, Err(VaultError::Conflict { .. })), "{refused:?}");
    let found = vault_on(db, folder).await.load().await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.id, in_use.id);
}

#[tokio::test]
async fn a_refused_rotation_clears_only_its_own_key_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions::in_directory(folder.path().join("data"));
    let db = Database::open(options).await.unwrap();
    a_refused_rotation_clears_only_its_own_key(db, folder.path()).await;
}

/// Whatever has led to it.
async fn a_key_that_a_secret_needs_is_none_of_the_past(db: Database, folder: &std::path::Path) {
    let vault = vault_on(db.clone(), folder).await;
    vault.set(&"global/key".parse().unwrap(), "a value".into(), &anna()).await.unwrap();
    let first = vault.held().unwrap().id.clone();
    rotate(&vault).await;
    let second = vault.held().unwrap().id.clone();
    rotate(&vault).await;
    let retired = async || db.read(|tx| vault_keys::retired(tx, 0, 10)).await.unwrap();
    assert_eq!(retired().await.len(), 2);
    let needs = move |tx: &mut Tx<'_>| {
        let row = secrets::all(tx)?.remove(0);
        secrets::rewrap(tx, &row, &first, &row.wrapped_key)
    };
    db.write(needs).await.unwrap();
    assert_eq!(retired().await, [second]);
}

#[tokio::test]
async fn a_key_that_a_secret_needs_is_none_of_the_past_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions::in_directory(folder.path().join("data"));
    let db = Database::open(options).await.unwrap();
    a_key_that_a_secret_needs_is_none_of_the_past(db, folder.path()).await;
}

/// It may ask somebody for its password, and where there is a key already it is another source.
#[test]
fn the_keyring_is_only_used_where_it_was_chosen() {
    let folder = std::path::Path::new("/srv/data");
    let of = |config: VaultConfig| Source::of(&config, folder).map(|source| source.word()).unwrap();
    let key_file = "/keys/a".into();
    assert_eq!(of(VaultConfig { key_file, ..VaultConfig::default() }), "file");
    let key_source = KeySource::Keyring;
    assert_eq!(of(VaultConfig { key_source, ..VaultConfig::default() }), "keyring");
    // Where nothing was chosen it is a file, or refused where there is no place for one.
    let unsaid = Source::of(&VaultConfig::default(), folder);
    assert!(!matches!(unsaid, Ok(Source::Keyring(_))), "{unsaid:?}");
}

#[tokio::test]
async fn the_source_of_the_key_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault_in(folder.path()).await;
    let path = folder.path().join("vault.key");
    assert_eq!(vault.key_source(), format!("the key file {}", path.display()));
    let argv = ["get-key", "--token=canary"].map(str::to_owned).to_vec();
    assert_eq!(Source::Command(argv).to_string(), "the command get-key");
}
