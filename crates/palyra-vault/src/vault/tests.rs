//! What happens between two steps, where no caller can look.

use palyra_storage::{OpenOptions, SystemClock};

use super::*;
use crate::config::{KeySource, VaultConfig};

async fn vault_in(folder: &std::path::Path) -> Vault {
    let db = Database::open(OpenOptions::in_directory(folder.join("data"))).await.unwrap();
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
    let by = Actor { by: Principal::owner(), origin: "test".into() };
    vault.set(&name, "first value".into(), &by).await.unwrap();
    let old = vault.held().unwrap();
    vault.rotate_master(NewMaster::Generated, &by).await.unwrap();

    let entry = vault.entry("secret.set", audit::subject(&name), &by);
    let (key, secret) = (old.clone(), name.clone());
    let late = move |tx: &mut Tx<'_>| put(tx, &key, &secret, &"late value".into(), &entry);
    assert!(matches!(vault.0.db.write(late).await.unwrap(), Tried::OtherKey));

    // One that reads finds the new key.
    let reading = Use { by: Principal::owner(), purpose: "test".into(), origin: "test".into() };
    vault.hold(old);
    assert_eq!(vault.get(&name, &reading).await.unwrap().expose(), "first value");
    assert_eq!(vault.list().await.unwrap()[0].versions.len(), 1);
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
