//! The key in the keyring, behind a stand-in for its tool. The tool is found in `PATH`, which only
//! a process of its own can have changed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use palyra_storage::{Database, OpenOptions, SystemClock, describe};
use palyra_testkit::crash::CrashPlan;
use palyra_testkit::process::{Builder, Stream, is_reexecuted, reexec_test};
use palyra_vault::{KeySource, NewMaster, Redactor, Vault, VaultConfig, VaultError};

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

on_every_engine!(the_keyring_keeps_the_key, a_rotation_survives_a_crash_anywhere);

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
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let mut entries = self.entries().into_iter();
        entries.find(|path| name(path).starts_with("service_palyra_")).unwrap()
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
    assert_eq!(keyring.entries().len(), 1);
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
    assert_eq!(keyring.entries().len(), 1, "what crashes have left was cleared");
}
