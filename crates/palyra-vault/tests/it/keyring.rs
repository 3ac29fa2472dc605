//! The key in the keyring, behind a stand-in for its tool. The tool is found in `PATH`, which only
//! a process of its own can have changed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use palyra_storage::{Database, OpenOptions, Sql, SystemClock, Tx, describe, params, sql};
use palyra_testkit::crash::CrashPlan;
use palyra_testkit::process::{Builder, Stream, is_reexecuted, reexec_test};
use palyra_vault::{
    KeySource, KeyState, NewMaster, NextStep, Redactor, Vault, VaultConfig, VaultError,
};

use crate::rotation::{UNDO_NEW, UNDO_OLD};
use crate::world::{World, anna, get, on_every_engine, set};

const LIMIT: Duration = Duration::from_secs(120);
const SCRIPT: &str = include_str!("stand-in/secret-tool");
const SECRETS: usize = 4;
/// In the order in which a rotation passes them, and whether the new key is in use by then.
const POINTS: [(&str, bool); 5] = [
    ("vault.rotate.new_key_written", false),
    ("vault.rotate.rewrapped", false),
    ("vault.rotate.committed", true),
    ("vault.keyring.replaced", true),
    ("vault.rotate.replaced", true),
];

on_every_engine!(
    the_keyring_keeps_the_key,
    an_entry_that_is_lost_while_its_key_is_in_memory_locks_nothing_new,
    a_backup_from_before_a_rotation_finds_its_key,
    an_entry_that_cannot_be_replaced_is_told,
    a_kept_entry_that_is_used_instead_is_told,
    a_rotation_survives_a_crash_anywhere,
);

struct StandIn<'a> {
    world: &'a World,
    folder: PathBuf,
}

impl<'a> StandIn<'a> {
    async fn of(world: &'a World) -> Self {
        world.db.close().await;
        let folder = world.folder.path().join("bin");
        std::fs::create_dir_all(folder.join("entries")).unwrap();
        let tool = folder.join("secret-tool");
        std::fs::write(&tool, SCRIPT).unwrap();
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o700)).unwrap();
        Self { world, folder }
    }

    fn child(&self, test: &str) -> Builder {
        let path = format!("{}:{}", self.folder.display(), std::env::var("PATH").unwrap());
        reexec_test(&format!("keyring::{test}"))
            .unwrap()
            .data_dir(&self.world.options.data_dir)
            .env("PALYRA_STORAGE_URL", self.world.options.config.url.expose())
            .env("PATH", path)
    }

    /// What the child said at its end.
    fn run(&self, test: &str) -> String {
        let mut process = self.child(test).without_crash().spawn().unwrap();
        assert!(process.wait(LIMIT).unwrap().success(), "{}", process.logs());
        let lines = process.lines(Stream::Stdout).unwrap();
        let told = lines.iter().find_map(|line| line.strip_prefix("told: "));
        told.unwrap_or_else(|| panic!("{}", process.logs())).to_owned()
    }

    fn entries(&self) -> Vec<PathBuf> {
        let folder = self.folder.join("entries").read_dir().unwrap();
        folder.map(|entry| entry.unwrap().path()).collect()
    }

    /// The entry of the key in use.
    fn entry(&self) -> PathBuf {
        self.of_service("palyra").next().unwrap()
    }

    fn of_service(&self, service: &str) -> impl Iterator<Item = PathBuf> {
        let start = format!("service_{service}_");
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        self.entries().into_iter().filter(move |path| name(path).starts_with(&start))
    }

    /// The database, while no child has it.
    async fn with_db<T>(&self, work: impl AsyncFnOnce(&Database) -> T) -> T {
        let db = Database::open(self.world.options.clone()).await.unwrap();
        let done = work(&db).await;
        db.close().await;
        done
    }
}

/// In a child: the outcome of `work` on the vault of the environment.
async fn inside(work: impl AsyncFnOnce(&Vault) -> Result<String, VaultError>) {
    if !is_reexecuted() {
        return;
    }
    let data_dir = std::env::var_os("PALYRA_DATA_DIR").unwrap();
    let mut options = OpenOptions::in_directory(&data_dir);
    options.config.url = std::env::var("PALYRA_STORAGE_URL").unwrap().into();
    let config = VaultConfig { key_source: KeySource::Keyring, ..VaultConfig::default() };
    let db = Database::open(options).await.unwrap();
    let clock = std::sync::Arc::new(SystemClock);
    let vault = Vault::open(db.clone(), clock, &config, data_dir.as_ref(), Redactor::new()).await;
    let told = match work(&vault.unwrap()).await {
        Ok(told) => told,
        Err(error) => format!("{}: {}", error.code(), describe(&error)),
    };
    println!("told: {told}");
    db.close().await;
}

#[tokio::test]
#[ignore = "started by another test"]
async fn fill() {
    inside(async |vault| {
        for at in 0..SECRETS {
            set(vault, &format!("global/{at}"), &format!("value {at}")).await?;
        }
        Ok(format!("set, with {}", vault.key_source()))
    })
    .await;
}

#[tokio::test]
#[ignore = "started by another test"]
async fn read() {
    inside(async |vault| {
        for at in 0..SECRETS {
            assert_eq!(get(vault, &format!("global/{at}")).await?, format!("value {at}"));
        }
        Ok("read".into())
    })
    .await;
}

#[tokio::test]
#[ignore = "started by another test"]
async fn rotate() {
    inside(async |vault| {
        let rotated = vault.rotate_master(NewMaster::Generated, &anna()).await?;
        Ok(format!("rotated {}, then {:?}", rotated.versions, rotated.next))
    })
    .await;
}

/// The entry goes away while this process has the key in memory, and a rotation makes another.
#[tokio::test]
#[ignore = "started by another test"]
async fn lose() {
    inside(async |vault| {
        for at in 0..SECRETS {
            set(vault, &format!("global/{at}"), &format!("value {at}")).await?;
        }
        let path = std::env::var_os("PATH").unwrap();
        let tool = std::env::split_paths(&path).next().unwrap();
        std::fs::remove_dir_all(tool.join("entries")).unwrap();
        std::fs::create_dir(tool.join("entries")).unwrap();
        assert_eq!(get(vault, "global/0").await?, "value 0");
        let refused = set(vault, "global/0", "another value").await.unwrap_err();
        assert_eq!(refused.code().as_str(), "vault/key_only_in_memory", "{refused}");
        assert_eq!(vault.check().await.unwrap_err().code(), refused.code());
        vault.rotate_master(NewMaster::Generated, &anna()).await?;
        set(vault, "global/0", "value 0").await?;
        vault.check().await?;
        Ok("lost and made again".into())
    })
    .await;
}

/// The entry of the key in use takes no new one, and then it does.
#[tokio::test]
#[ignore = "started by another test"]
async fn rotate_in_vain() {
    inside(async |vault| {
        let path = std::env::var_os("PATH").unwrap();
        let refuses = std::env::split_paths(&path).next().unwrap().join("refuses");
        std::fs::write(&refuses, "").unwrap();
        let rotated = vault.rotate_master(NewMaster::Generated, &anna()).await?;
        let NextStep::PutInPlace(stand_in) = &rotated.next else { panic!("{rotated:?}") };
        assert_eq!((rotated.key_file.as_ref(), stand_in.file()), (None, None));
        let state = KeyState::Kept(rotated.key_id, stand_in.clone());
        assert_eq!(vault.check().await?, state);
        assert_eq!(vault.key_source(), stand_in.to_string());
        set(vault, "global/0", "value 0").await?;
        assert_eq!(vault.check().await?, state, "and it is asked again");
        std::fs::remove_file(&refuses).unwrap();
        set(vault, "global/0", "value 0").await?;
        assert!(matches!(vault.check().await?, KeyState::Usable(_)));
        Ok(stand_in.to_string())
    })
    .await;
}

#[tokio::test]
#[ignore = "started by another test"]
async fn look() {
    inside(async |vault| match vault.check().await? {
        KeyState::Kept(_, stand_in) => Ok(format!("kept: {stand_in}; {}", stand_in.advice())),
        other => Ok(format!("{other:?}")),
    })
    .await;
}

async fn a_kept_entry_that_is_used_instead_is_told(world: World) {
    let keyring = StandIn::of(&world).await;
    keyring.run("fill");
    keyring.run("rotate");
    assert!(keyring.run("look").starts_with("Usable("));
    let entry = keyring.entry();
    std::fs::write(&entry, "00".repeat(32)).unwrap();
    let told = keyring.run("look");
    assert!(told.starts_with("kept: ") && told.contains("which holds another key"), "{told}");
    assert!(told.contains("palyra secrets rotate-master"), "{told}");
    std::fs::remove_file(&entry).unwrap();
    let told = keyring.run("look");
    assert!(told.starts_with("kept: ") && told.contains("which is not there"), "{told}");
    assert_eq!(keyring.run("read"), "read");
    assert_eq!(keyring.run("rotate"), "rotated 4, then Nothing");
    assert!(keyring.run("look").starts_with("Usable("), "a new key is in its place");
}

async fn an_entry_that_cannot_be_replaced_is_told(world: World) {
    let keyring = StandIn::of(&world).await;
    keyring.run("fill");
    let told = keyring.run("rotate_in_vain");
    assert!(told.contains("which could not be replaced (the keyring of the system"), "{told}");
    assert_eq!(keyring.of_service("palyra-next").count(), 0, "it is in its place now");
    assert_eq!(keyring.run("read"), "read");
}

async fn an_entry_that_is_lost_while_its_key_is_in_memory_locks_nothing_new(world: World) {
    let keyring = StandIn::of(&world).await;
    assert_eq!(keyring.run("lose"), "lost and made again");
    assert_eq!(keyring.run("read"), "read");
}

async fn the_keyring_keeps_the_key(world: World) {
    let keyring = StandIn::of(&world).await;
    assert_eq!(keyring.run("fill"), "set, with the keyring of the system");
    assert_eq!(keyring.run("read"), "read");
    assert_eq!(keyring.entries().len(), 1);
    let (entry, away) = (keyring.entry(), world.folder.path().join("away"));
    std::fs::rename(&entry, &away).unwrap();
    for refused in [keyring.run("read"), keyring.run("fill"), keyring.run("rotate")] {
        assert!(refused.starts_with("vault/no_key: "), "{refused}");
        assert!(refused.contains("no key for this data directory, or is locked"), "{refused}");
    }
    assert!(keyring.entries().is_empty(), "no new key is made while secrets need the old one");
    std::fs::write(&entry, "00".repeat(32)).unwrap();
    let refused = keyring.run("read");
    assert!(refused.starts_with("vault/wrong_key: "), "{refused}");
    std::fs::rename(&away, &entry).unwrap();
    assert_eq!(keyring.run("read"), "read");
    assert_eq!(keyring.run("rotate"), "rotated 4, then Nothing");
    assert_eq!(keyring.run("read"), "read");
    assert_eq!(keyring.of_service("palyra-kept").count(), 2, "the old one and the one in use");
    assert_eq!(keyring.entries().len(), 3);
}

const LOCKED: Sql = sql!("SELECT name, key_id, wrapped_key FROM secrets");
const UNDO_SECRET: Sql = sql!("UPDATE secrets SET key_id = $2, wrapped_key = $3 WHERE name = $1");

/// The rows are as they were before, and the entry of the key in use is not.
async fn a_backup_from_before_a_rotation_finds_its_key(world: World) {
    let keyring = StandIn::of(&world).await;
    keyring.run("fill");
    let read = |tx: &mut Tx<'_>| {
        tx.query(&LOCKED, params![], |row| {
            let (name, key, wrapped): (String, String, Vec<u8>) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((name, key, wrapped))
        })
    };
    let rows = keyring.with_db(async |db| db.read(read).await.unwrap()).await;
    keyring.run("rotate");
    let newer = std::fs::read(keyring.entry()).unwrap();
    let undo = move |tx: &mut Tx<'_>| {
        tx.execute(&UNDO_NEW, params![])?;
        tx.execute(&UNDO_OLD, params![rows[0].1.as_str()])?;
        for (name, key, wrapped) in &rows {
            tx.execute(&UNDO_SECRET, params![name.as_str(), key.as_str(), wrapped.as_slice()])?;
        }
        Ok(())
    };
    keyring.with_db(async |db| db.write(undo).await.unwrap()).await;
    assert_eq!(keyring.run("read"), "read");
    // From there on it goes on, and the key of the newer backups stays as well.
    assert_eq!(keyring.run("rotate"), "rotated 4, then Nothing");
    assert_eq!(keyring.run("read"), "read");
    let mut kept = keyring.of_service("palyra-kept");
    assert!(kept.any(|entry| std::fs::read(entry).unwrap() == newer));
}

async fn a_rotation_survives_a_crash_anywhere(world: World) {
    let keyring = StandIn::of(&world).await;
    keyring.run("fill");
    for (point, is_in_use) in POINTS {
        let before = std::fs::read(keyring.entry()).unwrap();
        let plan = CrashPlan::at(point);
        let mut process = keyring.child("rotate").crash(&plan).spawn().unwrap();
        plan.expect_crash(&mut process, LIMIT).unwrap();
        assert_eq!(keyring.run("read"), "read", "{point}");
        let replaced = std::fs::read(keyring.entry()).unwrap() != before;
        assert_eq!(replaced, is_in_use, "{point}");
    }
    assert_eq!(keyring.run("rotate"), "rotated 4, then Nothing");
    assert_eq!(keyring.run("read"), "read");
    let left = keyring.of_service("palyra-next").count();
    assert_eq!(left, 0, "what crashes have left was cleared");
}
