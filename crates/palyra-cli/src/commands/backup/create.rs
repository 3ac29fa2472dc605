//! `palyra backup create`

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use palyra_client::Download;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use rustix::fs::{CWD, FlockOperation, OFlags, RenameFlags, flock, renameat_with};
use rustix::process::geteuid;
use serde::Serialize;
use serde_json::Value;

use super::verify;
use crate::context::Context;
use crate::count;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::output::{Output, printable};
use crate::when;

/// Make a backup of the database and all blobs, while the daemon runs
///
/// It appears under its name only when it is whole and was checked. Exits with 7 when the audit
/// trail in it is broken, as it was in the database. Not in it are palyra.toml, the files of agents in
/// workspaces of the data directory, and the master key of the vault. Keep them yourself, and the key
/// apart: without it the secrets in the backup cannot be read.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  palyra backup create
  palyra backup create /mnt/backups/palyra.tar.gz"
)]
pub(crate) struct Arguments {
    /// The file to write, which must not be there yet, or a folder for palyra-backup-TIME.tar.gz
    /// [default: that name here]
    file: Option<PathBuf>,
}

/// What was made.
#[derive(Debug, Serialize)]
struct Created {
    file: String,
    bytes: u64,
    /// Whether it was read back and is whole; false only where there is no palyrad to do it.
    verified: bool,
    /// How much content its rows name that was not in the blob store; absent if it was not checked.
    missing_blobs: Option<u64>,
    /// What is wrong with the audit trail in it, which is as it was in the database.
    fault: Option<StableErrorEnvelope>,
    /// Never: whoever has a backup is not to have its secrets.
    master_key_included: bool,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Outcome {
    let file = place(arguments.file)?;
    if file.symlink_metadata().is_ok() {
        let there = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
        return Err(files::refused(&file, there));
    }
    // The daemon begins nothing that has no place to go to.
    let partial = Partial::begin(&file)?;
    let stream = context.client()?.backup().await?;
    let (bytes, checked) = tokio::select! {
        // First, so that from here on an interruption does not leave what is not whole.
        biased;
        _ = tokio::signal::ctrl_c() => return Err(Failure::Interrupted),
        received = receive(context, stream, &partial) => received?,
    };
    partial.finish(&file)?;
    let created = Created {
        file: file.display().to_string(),
        bytes,
        verified: !matches!(checked, Checked::Nobody),
        missing_blobs: checked.found().and_then(|found| found["missing_blobs"].as_u64()),
        fault: checked.fault(),
        master_key_included: false,
    };
    context.out().show(&created, text)?;
    match created.fault {
        None => Ok(()),
        Some(_) => Err(Failure::Faults),
    }
}

/// What was seen when it was read back.
enum Checked {
    Whole(Value),
    /// Everything is in it that was in the database, and the audit trail was broken there.
    BrokenTrail(StableErrorEnvelope),
    /// A machine that only makes backups may have no palyrad; it is told.
    Nobody,
}

impl Checked {
    fn found(&self) -> Option<&Value> {
        match self {
            Self::Whole(found) => Some(found),
            Self::BrokenTrail(_) | Self::Nobody => None,
        }
    }

    fn fault(self) -> Option<StableErrorEnvelope> {
        match self {
            Self::BrokenTrail(fault) => Some(fault),
            Self::Whole(_) | Self::Nobody => None,
        }
    }
}

/// The file to write: as told, or one with a name of its own in the folder that was told.
fn place(told: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let own = format!("palyra-backup-{}.tar.gz", when::stamp(when::now()));
    match told {
        None => Ok(own.into()),
        Some(told) if told == Path::new("-") => Err(Failure::asked(
            "a backup is read back before it counts, so it cannot go to standard output; name a \
             file, or ./- for one of that name",
        )),
        Some(told) if told.is_dir() => Ok(told.join(own)),
        Some(told) if told.as_os_str().as_bytes().ends_with(b"/") => {
            let told = told.display();
            Err(Failure::asked(format!("there is no folder {told}; make it, or name a file")))
        }
        Some(told) => Ok(told),
    }
}

async fn receive(
    context: &Context,
    stream: Download,
    partial: &Partial,
) -> Result<(u64, Checked), Failure> {
    let progress = context.out().progress("{spinner} {bytes} received, {bytes_per_sec}, {elapsed}");
    let received = pump(stream, partial, &progress).await;
    progress.finish_and_clear();
    let bytes = received?;
    let checked = match verify::check(context, &partial.path) {
        Ok(found) => Checked::Whole(found),
        Err(Failure::Told(told)) => match told.known_code() {
            Some(ErrorCode::ClientPalyradMissing) => Checked::Nobody,
            Some(ErrorCode::JournalBrokenChain) => Checked::BrokenTrail(*told),
            Some(_) | None => return Err(Failure::Told(told)),
        },
        Err(failure) => return Err(failure),
    };
    Ok((bytes, checked))
}

async fn pump(
    mut stream: Download,
    partial: &Partial,
    progress: &ProgressBar,
) -> Result<u64, Failure> {
    let wrong = |error: std::io::Error| Failure::file(&partial.path, error);
    let mut bytes = 0;
    while let Some(chunk) = stream.chunk().await? {
        (&partial.file).write_all(&chunk).map_err(wrong)?;
        bytes += chunk.len() as u64;
        progress.set_position(bytes);
    }
    partial.file.sync_all().map_err(wrong)?;
    Ok(bytes)
}

/// Opens the file of that name, or a new one. Where others may write to the folder they may have
/// put something there, to get at the backup or to have another file overwritten.
fn open_own(path: &Path) -> Result<File, Failure> {
    let not_ours = || {
        Failure::conflict(format!(
            "{} is there, and it is a link, not a plain file, or not yours; remove it or choose \
             another name",
            path.display()
        ))
    };
    match path.symlink_metadata() {
        Ok(there) if !is_own(&there) => return Err(not_ours()),
        Ok(_) | Err(_) => {}
    }
    // What is put there in this moment is not followed, and opening it does not wait.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let wrong = |error: std::io::Error| Failure::file(path, error);
    let file = options.open(path).map_err(wrong)?;
    if is_own(&file.metadata().map_err(wrong)?) { Ok(file) } else { Err(not_ours()) }
}

fn is_own(found: &Metadata) -> bool {
    found.is_file() && found.uid() == geteuid().as_raw() && found.nlink() == 1
}

/// A file that is not whole yet; removed unless it is finished.
struct Partial {
    path: PathBuf,
    file: File,
}

impl Partial {
    /// What an earlier, killed command has left is begun anew; one that still writes is not
    /// disturbed.
    fn begin(whole: &Path) -> Result<Self, Failure> {
        let path = files::with_ending(whole, ".partial");
        let wrong = |error: std::io::Error| Failure::file(&path, error);
        let file = open_own(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            Failure::conflict(format!("another command is writing {}", path.display()))
        })?;
        // An earlier command may have had another umask.
        file.set_permissions(Permissions::from_mode(0o600)).map_err(wrong)?;
        file.set_len(0).map_err(wrong)?;
        Ok(Self { path, file })
    }

    /// Gives it its name, unless somebody took that meanwhile.
    fn finish(&self, whole: &Path) -> Outcome {
        let named = match renameat_with(CWD, &self.path, CWD, whole, RenameFlags::NOREPLACE) {
            // Some file systems cannot refuse to overwrite; it was not there at the beginning.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) if !whole.exists() => {
                std::fs::rename(&self.path, whole)
            }
            done => done.map_err(Into::into),
        };
        named.map_err(|error| files::refused(whole, error))?;
        files::sync_folder_of(whole);
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After `finish` there is none under this name.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn text(_: &Output, created: &Created) -> String {
    let checked = match (&created.fault, created.verified) {
        (Some(fault), _) => format!(
            "It was read back. {}, as in the database that it was made of (code: {}); the rest of it \
             can be restored.",
            printable(fault.message()),
            printable(fault.code()),
        ),
        (None, true) => "It was read back and is whole.".to_owned(),
        (None, false) => "It was NOT checked, because palyrad was not found; run `palyra backup \
                          verify` where it is."
            .to_owned(),
    };
    let missing = match created.missing_blobs {
        None | Some(0) => String::new(),
        Some(missing) => format!(
            "{} missing in the blob store itself.\n",
            count::of(missing, "piece of content is", "pieces of content are")
        ),
    };
    format!(
        "{} is written ({} bytes).\n{checked}\n{missing}Not in it are palyra.toml, the files of agents in \
         workspaces, and the master key of the vault. Keep them yourself, and the key apart: without it \
         the secrets in this backup cannot be read.\n",
        printable(&created.file),
        created.bytes,
    )
}
