//! `palyrad restore`: a backup becomes the data of a new node.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use palyra_storage::backup::{self, Progress, Verified};
use palyra_storage::{Database, MIGRATIONS, OpenOptions, SystemClock, describe};
use palyra_vault::{KeyState, Redactor, Vault, VaultConfig};
use tokio::sync::watch;

use crate::config;
use crate::config_command::json;
use crate::failure::Failure;
use crate::flags::Flags;

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Restores `file` to where the daemon would look for its data.
pub(crate) async fn restore(flags: &Flags, file: &Path) -> Result<(), Failure> {
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
    report(&restored, &data_dir);
    // What was restored stays, whatever there is to say about the key.
    if let Some(told) = key_needed(options, &loaded.config.vault).await {
        crate::print(&format!("{told}\n"));
    }
    Ok(())
}

/// Which master key the restored secrets need, and what to do for it.
async fn key_needed(options: OpenOptions, config: &VaultConfig) -> Option<String> {
    let data_dir = options.data_dir.clone();
    let db = Database::open(options).await.ok()?;
    let (clock, redactor) = (Arc::new(SystemClock), Redactor::new());
    let vault = Vault::unread(db.clone(), clock, config, &data_dir, redactor).ok()?;
    let (state, source) = (vault.check().await, vault.key_source());
    db.close().await;
    match state {
        Ok(KeyState::NotMade) => None,
        Ok(KeyState::Usable(id)) => {
            Some(format!("its secrets are locked with the master key {id}, which is in {source}"))
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

fn report(restored: &Verified, data_dir: &Path) {
    let Verified { schema, content, missing, journal, .. } = restored;
    for id in &missing.named {
        say(&format!("blob {id} had no content when the backup was made"));
    }
    if let Some(fault) = &journal.fault {
        let told = fault.envelope();
        say(&format!(
            "{}\n  code: {}\n  what to do: {}",
            told.message(),
            told.code(),
            told.recovery_hint()
        ));
    }
    let Progress { rows, blobs, .. } = content;
    let line = format!(
        "palyrad has restored {rows} rows and {blobs} blobs, schema {schema}, data in {}\n",
        data_dir.display()
    );
    // A closed standard output is no reason to fail.
    let _ = std::io::stdout().write_all(line.as_bytes());
}

fn say(line: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = std::io::stderr().write_all(format!("palyrad: {line}\n").as_bytes());
}
