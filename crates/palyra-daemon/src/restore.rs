//! `palyrad restore`: a backup becomes the data of a new node.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use palyra_common::ErrorCode;
use palyra_common::time::Clock;
use palyra_storage::backup::{self, Progress, Verified};
use palyra_storage::{Database, MIGRATIONS, OpenOptions, StorageError, SystemClock, describe};
use palyra_vault::{KeyState, Redactor, Vault, VaultConfig};
use tokio::sync::watch;

use crate::aftermath;
use crate::config;
use crate::config_command::json;
use crate::failure::Failure;
use crate::flags::Flags;

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Restores `file` to where the daemon would look for its data.
pub(crate) async fn restore(flags: &Flags, file: &Path, as_json: bool) -> Result<(), Failure> {
    let data_dir = flags.data_dir().ok_or(Failure::NoDataDir)?;
    crate::folder::check(&data_dir)?;
    let loaded = config::load(&flags.given(), &data_dir)?;
    let config = loaded.config.storage.clone();
    let input = open(file)?;
    let options = OpenOptions { data_dir: data_dir.clone(), config, migrations: MIGRATIONS };
    say(&format!("restoring {}", file.display()));
    let (progress, told) = watch::channel(Progress::default());
    let restored = tokio::select! {
        restored = backup::restore(input, options.clone(), progress) => restored?,
        never = tell(told) => never,
    };
    // What was restored stays, whatever follows.
    let mut warnings = warnings(&restored);
    let (mut told, mut found) = (vec![line(&restored, &data_dir)], serde_json::json!({}));
    match Database::open(options).await {
        Ok(db) => {
            match aftermath::settle(&db, SystemClock.now()).await {
                Ok(Some(settled)) => {
                    told.extend(settled.told());
                    found = settled.to_json();
                }
                Ok(None) => {}
                Err(error) => warnings.push(left_to_the_start(&error)),
            }
            told.extend(key_needed(&db, &data_dir, &loaded.config.vault).await);
            db.close().await;
        }
        Err(error) => warnings.push(left_to_the_start(&error)),
    }
    warnings.iter().for_each(|warning| say(warning));
    if as_json {
        let content = restored.content;
        found["rows"] = content.rows.into();
        found["blobs"] = content.blobs.into();
        found["missing_blobs"] = restored.missing.count.into();
        found["schema"] = restored.schema.into();
        found["told"] = told.into();
        found["warnings"] = warnings.into();
        crate::print(&json(&found));
    } else {
        told.iter().for_each(|told| crate::print(&format!("{told}\n")));
    }
    Ok(())
}

fn left_to_the_start(error: &StorageError) -> String {
    let why = describe(error);
    format!("{why}\nlogins and messages of the backup are seen to when the daemon starts")
}

/// Which master key the restored secrets need, and what to do for it.
async fn key_needed(db: &Database, data_dir: &Path, config: &VaultConfig) -> Option<String> {
    let (clock, redactor) = (Arc::new(SystemClock), Redactor::new());
    let vault = Vault::unread(db.clone(), clock, config, data_dir, redactor).ok()?;
    let (state, source) = (vault.check().await, vault.key_source());
    match state {
        Ok(KeyState::NotMade) => None,
        Ok(KeyState::Usable(id)) => {
            Some(format!("its secrets are locked with the master key {id}, which is in {source}"))
        }
        Err(error) if error.code() == ErrorCode::VaultKeyExposed => {
            let told = error.envelope();
            Some(format!("{}\nwhat to do: {}", told.message(), told.recovery_hint()))
        }
        Err(error) => Some(format!(
            "{}\nwhat to do: put that key where this node looks for it, {source}, a file with mode \
             0600; where the backup was made, `palyra --data-dir OLD status` names its place, with \
             the data directory of then for OLD, and older keys are beside it, named by their id",
            describe(&error)
        )),
    }
}

/// Checks `file` and says what is in it. Fails if its audit trail is broken, too.
pub(crate) fn verify(file: &Path, as_json: bool) -> Result<ExitCode, Failure> {
    let unwatched = watch::channel(Progress::default()).0;
    let verified = backup::verify(open(file)?, &unwatched)?;
    let Verified { schema, engine, made_at, content, missing, .. } = &verified;
    if as_json {
        let told = serde_json::json!({
            "schema": schema,
            "engine": engine,
            "made_at": made_at,
            "rows": content.rows,
            "blobs": content.blobs,
            "missing_blobs": missing.count,
        });
        crate::print(&json(&told));
    } else {
        crate::print(&format!(
            "the backup of {made_at} is whole: {engine}, schema {schema}, {} rows, {} blobs, {} \
             blobs without content\n",
            content.rows, content.blobs, missing.count
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn open(file: &Path) -> Result<BufReader<File>, Failure> {
    let unreadable = |error| Failure::Unreadable { path: file.to_owned(), error };
    let opened = File::open(file).map_err(unreadable)?;
    // Opening a folder succeeds, and reading it fails with an error that names nothing.
    if opened.metadata().map_err(unreadable)?.is_dir() {
        return Err(unreadable(std::io::ErrorKind::IsADirectory.into()));
    }
    Ok(BufReader::new(opened))
}

/// Tells how far it is, until it is over.
async fn tell(told: watch::Receiver<Progress>) -> ! {
    loop {
        tokio::time::sleep(TELL_EVERY).await;
        let Progress { rows, blobs, bytes } = *told.borrow();
        say(&format!("{rows} rows, {blobs} blobs, {} MiB so far", bytes >> 20));
    }
}

/// What is wrong with what was restored.
fn warnings(restored: &Verified) -> Vec<String> {
    let Verified { missing, journal, .. } = restored;
    let without = |id| format!("blob {id} had no content when the backup was made");
    let fault = journal.fault.as_ref().map(|fault| {
        let told = fault.envelope();
        let (code, hint) = (told.code(), told.recovery_hint());
        format!("{}\n  code: {code}\n  what to do: {hint}", told.message())
    });
    missing.named.iter().map(without).chain(fault).collect()
}

fn line(restored: &Verified, data_dir: &Path) -> String {
    let (schema, Progress { rows, blobs, .. }) = (restored.schema, restored.content);
    format!(
        "palyrad has restored {rows} rows and {blobs} blobs, schema {schema}, data in {}",
        data_dir.display()
    )
}

fn say(line: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = std::io::stderr().write_all(format!("palyrad: {line}\n").as_bytes());
}
