//! `palyrad restore`: a backup becomes the data of a new node.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use palyra_storage::backup::{self, Progress, Verified};
use palyra_storage::{MIGRATIONS, OpenOptions};
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
    let config = config::load(&flags.given(), &data_dir)?.config.storage.clone();
    let input = open(file)?;
    let options = OpenOptions { data_dir: data_dir.clone(), config, migrations: MIGRATIONS };
    say(&format!("restoring {}", file.display()));
    let (progress, told) = watch::channel(Progress::default());
    let restored = tokio::select! {
        restored = backup::restore(input, options, progress) => restored?,
        never = tell(told) => never,
    };
    report(&restored, &data_dir);
    Ok(())
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
    Ok(BufReader::new(File::open(file).map_err(unreadable)?))
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
