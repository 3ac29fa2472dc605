//! `palyrad restore`: a backup becomes the data of a new node, or a copy that a migration has kept the
//! database again.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use palyra_common::ErrorCode;
use palyra_common::time::Clock;
use palyra_storage::backup::{self, Progress, PutBack, Verified};
use palyra_storage::{Database, MIGRATIONS, OpenOptions, StorageError, SystemClock, describe};
use palyra_vault::{KeyState, Redactor, Vault, VaultConfig};
use serde_json::Value;
use tokio::sync::watch;

use crate::aftermath;
use crate::config;
use crate::config_command::json;
use crate::failure::Failure;
use crate::flags::Flags;

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// What programs call the kinds of files.
const BACKUP: &str = "backup";
const COPY: &str = "copy";

/// What was restored, before anybody has opened it.
struct Restored {
    /// For people.
    line: String,
    /// What is wrong with it.
    warnings: Vec<String>,
    /// For programs.
    facts: Value,
}

/// Restores `file` to where the daemon would look for its data.
pub(crate) async fn restore(flags: &Flags, file: &Path, as_json: bool) -> Result<(), Failure> {
    let data_dir = flags.data_dir().ok_or(Failure::NoDataDir)?;
    crate::folder::check(&data_dir)?;
    crate::folder::refuse_running(&data_dir)?;
    let loaded = config::load(&flags.given(), &data_dir)?;
    let config = loaded.config.storage.clone();
    let mut input = open(file)?;
    let options = OpenOptions { data_dir: data_dir.clone(), config, migrations: MIGRATIONS };
    say(&format!("restoring {}", file.display()));
    let restored = if is_copy(&mut input, file)? {
        put_back(file, options.clone()).await?
    } else {
        from_backup(input, options.clone()).await?
    };
    // What was restored stays, whatever follows.
    let Restored { line, mut warnings, facts: mut found } = restored;
    let mut told = vec![line];
    match Database::open(options).await {
        Ok(db) => {
            match aftermath::settle(&db, SystemClock.now()).await {
                Ok(Some(settled)) => {
                    told.extend(settled.told());
                    merge(&mut found, settled.to_json());
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
        found["told"] = told.into();
        found["warnings"] = warnings.into();
        crate::print(&json(&found));
    } else {
        told.iter().for_each(|told| crate::print(&format!("{told}\n")));
    }
    Ok(())
}

async fn from_backup(input: BufReader<File>, options: OpenOptions) -> Result<Restored, Failure> {
    let data_dir = options.data_dir.clone();
    let (progress, told) = watch::channel(Progress::default());
    let restored = tokio::select! {
        restored = backup::restore(input, options, progress) => restored?,
        never = tell(told) => never,
    };
    let (schema, Progress { rows, blobs, .. }) = (restored.schema, restored.content);
    let line = format!(
        "palyrad has restored {rows} rows and {blobs} blobs, schema {schema}, data in {}",
        data_dir.display()
    );
    let facts = serde_json::json!({
        "kind": BACKUP,
        "schema": schema,
        "rows": rows,
        "blobs": blobs,
        "missing_blobs": restored.missing.count,
    });
    Ok(Restored { line, warnings: warnings(&restored), facts })
}

async fn put_back(file: &Path, options: OpenOptions) -> Result<Restored, Failure> {
    let data_dir = options.data_dir.clone();
    let done = backup::put_back(file.to_owned(), options).await?;
    let PutBack { schema, replaced, replaced_log } = done;
    let mut line = format!(
        "palyrad has put back the copy {}, schema {schema}, data in {}",
        file.display(),
        data_dir.display()
    );
    if let Some(replaced) = &replaced {
        line.push_str(&format!("; the database that was there is kept as {}", replaced.display()));
    }
    if let Some(log) = &replaced_log {
        line.push_str(&format!(", and what was written to it last as {}", log.display()));
    }
    if replaced.is_some() {
        line.push_str(
            "; blobs that only that one needs may be deleted a day after the daemon has started",
        );
    }
    let name = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
    let (replaced, replaced_log) = (name(replaced), name(replaced_log));
    let facts = serde_json::json!({
        "kind": COPY,
        "schema": schema,
        "replaced": replaced,
        "replaced_log": replaced_log,
    });
    Ok(Restored { line, warnings: Vec::new(), facts })
}

fn merge(into: &mut Value, more: Value) {
    if let (Some(into), Value::Object(more)) = (into.as_object_mut(), more) {
        into.extend(more);
    }
}

fn left_to_the_start(error: &StorageError) -> String {
    let why = describe(error);
    format!("{why}\nlogins and messages that were restored are seen to when the daemon starts")
}

/// Which master key the restored secrets need, and what to do for it.
async fn key_needed(db: &Database, data_dir: &Path, config: &VaultConfig) -> Option<String> {
    let (clock, redactor) = (Arc::new(SystemClock), Redactor::new());
    let vault = Vault::unread(db.clone(), clock, config, data_dir, redactor).ok()?;
    let (state, source) = (vault.check().await, vault.key_source());
    match state {
        Ok(KeyState::NotMade) => None,
        Ok(KeyState::Usable(id) | KeyState::Kept(id, _)) => {
            Some(format!("its secrets are locked with the master key {id}, which is in {source}"))
        }
        Err(error) if error.code() == ErrorCode::VaultKeyExposed => {
            let told = error.envelope();
            Some(format!("{}\nwhat to do: {}", told.message(), told.recovery_hint()))
        }
        Err(error) => Some(format!(
            "{}\nwhat to do: put that key where this node looks for it, {source}, a file with mode \
             0600; where the backup was made, `palyra --data-dir OLD doctor` names its place, with \
             the data directory of then for OLD, whether or not its daemon runs and its database is \
             whole, and older keys are beside it, named by their id",
            describe(&error)
        )),
    }
}

/// Checks `file` and says what is in it. Fails if its audit trail is broken, too.
pub(crate) fn verify(file: &Path, as_json: bool) -> Result<ExitCode, Failure> {
    let unwatched = watch::channel(Progress::default()).0;
    let mut input = open(file)?;
    if is_copy(&mut input, file)? {
        return verify_copy(file, as_json);
    }
    let verified = backup::verify(input, &unwatched)?;
    let Verified { schema, engine, made_at, content, missing, .. } = &verified;
    if as_json {
        let told = serde_json::json!({
            "kind": BACKUP,
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

fn verify_copy(file: &Path, as_json: bool) -> Result<ExitCode, Failure> {
    let schema = backup::verify_copy(file, MIGRATIONS)?;
    if as_json {
        crate::print(&json(&serde_json::json!({ "kind": COPY, "schema": schema })));
    } else {
        crate::print(&format!("the copy of a database is whole: schema {schema}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// By what it begins with. Nothing of it is used up.
fn is_copy(input: &mut BufReader<File>, file: &Path) -> Result<bool, Failure> {
    let unreadable = |error| Failure::Unreadable { path: file.to_owned(), error };
    Ok(backup::is_copy(input.fill_buf().map_err(unreadable)?))
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

fn say(line: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = std::io::stderr().write_all(format!("palyrad: {line}\n").as_bytes());
}
