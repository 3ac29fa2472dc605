//! A process is killed at every step of a change of the master key; every secret stays readable.

use std::time::Duration;

use palyra_storage::{Database, OpenOptions, SystemClock};
use palyra_testkit::crash::CrashPlan;
use palyra_testkit::process::{Builder, Stream, is_reexecuted, reexec_test};
use palyra_vault::{KeySource, NewMaster, Redactor, Vault, VaultConfig};

use crate::world::{World, anna, get, set};

const LIMIT: Duration = Duration::from_secs(120);
const KEY_FILE_VARIABLE: &str = "PALYRA_TEST_KEY_FILE";
const SECRETS: usize = 6;
/// In the order in which a rotation passes them.
const POINTS: [&str; 4] = [
    "vault.rotate.new_key_written",
    "vault.rotate.rewrapped",
    "vault.rotate.committed",
    "vault.rotate.replaced",
];

fn child(world: &World, test: &str) -> Builder {
    reexec_test(test)
        .unwrap()
        .data_dir(&world.options.data_dir)
        .env("PALYRA_STORAGE_URL", world.options.config.url.expose())
        .env(KEY_FILE_VARIABLE, world.key_file())
}

/// The vault of the environment, for children.
async fn of_environment() -> (Database, Vault) {
    let data_dir = std::env::var_os("PALYRA_DATA_DIR").unwrap();
    let mut options = OpenOptions::in_directory(&data_dir);
    options.config.url = std::env::var("PALYRA_STORAGE_URL").unwrap().into();
    let config = VaultConfig {
        key_source: KeySource::File,
        key_file: std::env::var_os(KEY_FILE_VARIABLE).unwrap().into(),
        ..VaultConfig::default()
    };
    let db = Database::open(options).await.unwrap();
    let clock = std::sync::Arc::new(SystemClock);
    let vault = Vault::open(db.clone(), clock, &config, data_dir.as_ref(), Redactor::new()).await;
    (db, vault.unwrap())
}

#[tokio::test]
#[ignore = "started by another test"]
async fn rotate_once() {
    if is_reexecuted() {
        let (db, vault) = of_environment().await;
        let rotated = vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
        println!("rotated {}", rotated.versions);
        db.close().await;
    }
}

#[tokio::test]
#[ignore = "started by another test"]
async fn set_once() {
    if is_reexecuted() {
        let (db, vault) = of_environment().await;
        set(&vault, "global/0", "value 0").await.unwrap();
        db.close().await;
    }
}

/// Opens everything anew, as the next start does, and reads every secret.
async fn check_readable(world: &World, when: &str) {
    let db = Database::open(world.options.clone()).await.unwrap();
    let vault = world.vault_on(&db, &world.config).await;
    for at in 0..SECRETS {
        let value = get(&vault, &format!("global/{at}")).await;
        let value = value.unwrap_or_else(|error| panic!("{when}: {error:?}"));
        assert_eq!(value, format!("newer value {at}"), "{when}");
    }
    set(&vault, "global/last", when).await.unwrap();
    db.close().await;
}

fn waiting_keys(world: &World) -> usize {
    let folder = world.key_file().parent().unwrap().read_dir().unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".new")).count()
}

async fn a_rotation_survives_a_crash_anywhere(world: World, commit_points: [&str; 2]) {
    for at in 0..SECRETS {
        world.set(&format!("global/{at}"), &format!("value {at}")).await;
        world.set(&format!("global/{at}"), &format!("newer value {at}")).await;
    }
    world.db.close().await;
    let test = "crash::rotate_once";
    for point in POINTS {
        let before = std::fs::read(world.key_file()).unwrap();
        let plan = CrashPlan::at(point);
        let mut process = child(&world, test).crash(&plan).spawn().unwrap();
        plan.expect_crash(&mut process, LIMIT).unwrap();
        check_readable(&world, point).await;
        let replaced = std::fs::read(world.key_file()).unwrap() != before;
        let committed = matches!(point, "vault.rotate.committed" | "vault.rotate.replaced");
        assert_eq!(replaced, committed, "{point}");
    }
    // The storage's own points, wherever the child passes them.
    let mut crashes = 0;
    for (point, nth) in commit_points.into_iter().flat_map(|point| [(point, 1), (point, 2)]) {
        let plan = CrashPlan::at(point).nth(nth);
        let mut process = child(&world, test).crash(&plan).spawn().unwrap();
        crashes += usize::from(!process.wait(LIMIT).unwrap().success());
        check_readable(&world, &plan.value()).await;
    }
    assert!(crashes > 0, "no point of the storage was passed");
    let mut process = child(&world, test).without_crash().spawn().unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.logs());
    let lines = process.lines(Stream::Stdout).unwrap();
    assert!(lines.iter().any(|line| line.starts_with("rotated ")), "{}", process.logs());
    check_readable(&world, "after all").await;
    assert_eq!(waiting_keys(&world), 0, "what crashes have left was cleared");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotation_survives_a_crash_anywhere_on_sqlite() {
    let points = ["sqlite.before_commit", "sqlite.after_commit"];
    a_rotation_survives_a_crash_anywhere(World::sqlite().await, points).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotation_survives_a_crash_anywhere_on_postgres() {
    let points = ["postgres.before_commit", "postgres.after_commit"];
    a_rotation_survives_a_crash_anywhere(World::postgres().await, points).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_first_key_is_written_leaves_it_to_the_next_start() {
    let world = World::sqlite().await;
    world.db.close().await;
    let plan = CrashPlan::at("vault.make.key_written");
    let mut process = child(&world, "crash::set_once").crash(&plan).spawn().unwrap();
    plan.expect_crash(&mut process, LIMIT).unwrap();
    let key = std::fs::read(world.key_file()).unwrap();
    let mut process = child(&world, "crash::set_once").without_crash().spawn().unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.logs());
    assert_eq!(std::fs::read(world.key_file()).unwrap(), key);
    let db = Database::open(world.options.clone()).await.unwrap();
    let vault = world.vault_on(&db, &world.config).await;
    assert_eq!(get(&vault, "global/0").await.unwrap(), "value 0");
}
