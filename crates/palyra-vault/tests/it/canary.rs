//! A value that is set stands nowhere but in the vault: not in files, dumps, logs, errors or what
//! is printed for debugging, neither as it is nor in hex or base64.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use palyra_common::ids::EventId;
use palyra_storage::{Sql, new_id, sql};
use palyra_vault::{NewMaster, PAGE_LIMIT, SecretString, VaultConfig};

use crate::world::{World, anna, get, name, on_every_engine, reading, set};

on_every_engine!(a_canary_is_seen_nowhere);

/// Everything that is logged, unredacted.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

static LOG: LazyLock<Log> = LazyLock::new(|| {
    let log = Log::default();
    let writer = log.clone();
    let logger = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone());
    logger.init();
    log
});

/// The shapes in which a canary may not be seen.
fn shapes(canary: &[u8]) -> Vec<Vec<u8>> {
    let hex: String = canary.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut shapes = vec![canary.to_vec(), hex.to_uppercase().into_bytes(), hex.into_bytes()];
    for shift in 0..3 {
        let bytes = [&[0; 2][..shift], canary].concat();
        let text = STANDARD.encode(&bytes);
        let whole = (shift * 8).div_ceil(6)..bytes.len() * 8 / 6;
        shapes.push(text[whole].as_bytes().to_vec());
    }
    shapes
}

fn check_absent(canaries: &[Vec<u8>], text: &[u8], place: &str) {
    for shape in canaries.iter().flat_map(|canary| shapes(canary)) {
        let seen = text.windows(shape.len()).any(|window| window == shape);
        assert!(!seen, "{} is in {place}", String::from_utf8_lossy(&shape));
    }
}

fn check_folder(canaries: &[Vec<u8>], folder: &Path) -> usize {
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            if path.is_dir() {
                return check_folder(canaries, &path);
            }
            check_absent(canaries, &std::fs::read(&path).unwrap(), &path.display().to_string());
            1
        })
        .sum()
}

const DAMAGE: Sql = sql!("UPDATE secrets SET ciphertext = wrapped_key WHERE name = 'damaged'");

/// Does everything, and returns what was printed and told on the way.
async fn exercise(world: &World, canary: &str, passphrase: &str) -> Vec<String> {
    let vault = &world.vault;
    let mut told = vec![format!("{:?}", SecretString::from(canary))];
    for secret in ["global/key", "global/key", "agent:a/damaged", "skill:s/deleted"] {
        world.set(secret, canary).await;
    }
    get(vault, "global/key").await.unwrap();
    let reading = reading(&format!("say {canary} aloud"));
    vault.get(&name("global/key"), &reading).await.unwrap();
    told.push(format!("{:?}", vault.get(&name("global/key"), &reading).await));
    told.push(format!("{:?} {vault:?} {:?}", vault.list(None, PAGE_LIMIT).await, vault.feed()));
    vault.rotate_master(NewMaster::Generated, &anna()).await.unwrap();
    vault.delete(&name("skill:s/deleted"), &anna()).await.unwrap();
    world.execute(&DAMAGE).await;
    let mut errors = vec![
        get(vault, "agent:a/damaged").await.unwrap_err(),
        get(vault, "global/none").await.unwrap_err(),
        set(vault, "global/large", &canary.repeat(10_000)).await.unwrap_err(),
    ];
    let wrong = VaultConfig {
        key_command: ["printf", "%s", &"ab".repeat(32)].map(str::to_owned).to_vec(),
        ..VaultConfig::default()
    };
    let lost = VaultConfig { key_file: world.folder.path().join("none"), ..world.config.clone() };
    for config in [wrong, lost] {
        let locked = world.vault_with(&config).await;
        errors.push(get(&locked, "global/key").await.unwrap_err());
        errors.push(set(&locked, "global/key", canary).await.unwrap_err());
        told.push(format!("{locked:?}"));
    }
    vault.delete(&name("agent:a/damaged"), &anna()).await.unwrap();
    let new = NewMaster::Passphrase(passphrase.into());
    told.push(format!("{new:?}"));
    told.push(format!("{:?}", vault.rotate_master(new, &anna()).await.unwrap()));
    for error in errors {
        told.push(format!("{error} {error:?} {:?}", error.envelope()));
    }
    told
}

async fn a_canary_is_seen_nowhere(world: World) {
    let log = LOG.clone();
    let canary = format!("canary/{}+", new_id::<EventId>());
    let passphrase = format!("passphrase {}", new_id::<EventId>());
    let told = exercise(&world, &canary, &passphrase).await;
    assert_eq!(get(&world.vault, "global/key").await.unwrap(), canary, "it is in the vault");

    let key = std::fs::read_to_string(world.key_file()).unwrap();
    let key = STANDARD.decode(key.trim()).unwrap();
    let canaries = [canary.into_bytes(), passphrase.into_bytes(), key];
    for line in told {
        check_absent(&canaries, line.as_bytes(), &format!("what is told: {line}"));
    }
    // With the log that is beside the file, before it is merged.
    let files = check_folder(&canaries, &world.options.data_dir);
    if let Some(postgres) = &world.postgres {
        let dump = postgres.dump().unwrap();
        assert!(dump.contains("vault_keys") && dump.contains("operator:anna"), "rows are dumped");
        check_absent(&canaries, dump.as_bytes(), "the dump");
    } else {
        assert!(files >= 2, "the database and its log");
    }
    world.db.close().await;
    check_folder(&canaries, &world.options.data_dir);
    let log = log.0.lock().unwrap();
    let text = String::from_utf8_lossy(&log);
    assert!(text.contains("secrets cannot be read"), "something was logged");
    check_absent(&canaries, &log, "the log");
}
