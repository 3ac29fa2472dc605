//! Checks that need nothing but the machine.

use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::path::Path;

use palyra_common::api::{Check, CheckState};
use palyra_common::data_dir::{RUNTIME_FILE, Running, SOCKET};
use palyra_common::deployment_profiles::PreflightCheck;
use palyra_common::time::Timestamp;
use palyra_common::{DeploymentProfile, ErrorCode, StableErrorEnvelope};
use palyra_storage::{Database, MIGRATIONS, OpenOptions, StorageError};

use super::{advised, check};
use crate::config::{Config, Loaded};
use crate::failure::Failure;
use crate::folder::{self, Openness};
use crate::standing::{self, Standing};
use crate::transport::listen;

/// What a start writes at once: its runtime file, its log and the first pages of the database.
const ROOM_TO_START: usize = 256 << 10;
/// Below this much space work may stop at any moment.
const LITTLE_SPACE: u64 = 100 << 20;
/// Below this much it is time to look.
const SCARCE_SPACE: u64 = 1 << 30;

const MORE_SPACE: &str = "Free space on that disk, or move the data directory to a larger one.";

/// 2025-01-01: this program is younger, so an earlier clock is wrong.
const NOT_BEFORE: Timestamp = Timestamp::from_unix_millis(1_735_689_600_000);

/// Whether a start would take the configuration.
pub(super) fn config(loaded: &Result<Loaded, Failure>) -> Check {
    let name = PreflightCheck::Config.as_str();
    match loaded {
        Ok(_) => check(name, CheckState::Ok, "the configuration can be used"),
        Err(failure) => {
            let envelope = failure.envelope();
            let failed = check(name, CheckState::Failed, envelope.message());
            advised(failed, envelope.recovery_hint())
        }
    }
}

/// Of a configuration that can be used only because the command line or the environment of the
/// running daemon says more than the file.
pub(super) fn hidden(failure: &Failure, by: &str) -> Check {
    let envelope = failure.envelope();
    let seen = format!(
        "the configuration can be used only with the {by} of this daemon; without it: {}",
        envelope.message()
    );
    let made = check(PreflightCheck::Config.as_str(), CheckState::Warning, seen);
    advised(made, envelope.recovery_hint())
}

pub(super) fn clock(now: Timestamp) -> Check {
    if now >= NOT_BEFORE {
        return check("clock", CheckState::Ok, format!("it is {now}"));
    }
    let wrong = check("clock", CheckState::Failed, format!("it says {now}, which has passed"));
    advised(wrong, "Set the clock of this machine, best by a time service such as chrony.")
}

pub(super) fn disk_space(folder: &Path) -> Check {
    let name = "disk_space";
    let free = match free_bytes(folder) {
        Ok(free) => free,
        Err(error) => {
            let what = format!("{} cannot be asked: {error}", folder.display());
            return check(name, CheckState::Warning, what);
        }
    };
    let seen = format!("{} MiB free at {}", free >> 20, folder.display());
    match free {
        ..LITTLE_SPACE => advised(check(name, CheckState::Failed, seen), MORE_SPACE),
        LITTLE_SPACE..SCARCE_SPACE => advised(check(name, CheckState::Warning, seen), MORE_SPACE),
        SCARCE_SPACE.. => check(name, CheckState::Ok, seen),
    }
}

fn free_bytes(folder: &Path) -> rustix::io::Result<u64> {
    let disk = rustix::fs::statvfs(existing(folder))?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Whether the disk takes no more than a start needs. One that cannot be asked is not called full.
pub(crate) fn has_no_room(folder: &Path) -> bool {
    free_bytes(folder).is_ok_and(is_too_little)
}

/// Whether so many bytes are no more than a start needs.
pub(crate) fn is_too_little(room: u64) -> bool {
    room < ROOM_TO_START as u64
}

/// How much more the database takes of what `storage.max_bytes` allows.
pub(super) fn database_size(room: Result<Option<u64>, StorageError>) -> Check {
    let name = "database_size";
    let told = match room {
        Ok(None) => return check(name, CheckState::Ok, "storage.max_bytes does not limit it"),
        Ok(Some(room)) => {
            let seen = format!("{} KiB are left below storage.max_bytes", room >> 10);
            if !is_too_little(room) {
                return check(name, CheckState::Ok, seen);
            }
            StableErrorEnvelope::new(ErrorCode::StorageSizeLimit, seen)
        }
        Err(error) => error.envelope(),
    };
    advised(check(name, CheckState::Failed, told.to_string()), told.recovery_hint())
}

fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Whether others on this machine can look into the data directory, or change it.
pub(super) fn private_folder(folder: &Path) -> Check {
    let (name, shown) = ("data_directory_private", folder.display());
    let found = match Standing::of(folder) {
        Ok(found) => found,
        Err(error) => return check(name, CheckState::Failed, format!("{shown}: {error}")),
    };
    if found.is_foreign(standing::us()) {
        let seen = format!("{shown} belongs to user {}", found.owner);
        let advice = "Give it to the user that runs the daemon, with chown -R.";
        return advised(check(name, CheckState::Failed, seen), advice);
    }
    let seen = format!("{shown} has mode {:o}", found.mode & 0o777);
    let (state, can) = match Openness::of(found.mode) {
        Openness::Private => return check(name, CheckState::Ok, seen),
        Openness::Readable => (CheckState::Warning, "look into it"),
        Openness::Writable => (CheckState::Failed, "change it"),
    };
    let open = check(name, state, seen);
    let advice = format!("Others can {can}: chmod 700 {shown}");
    Check { fixable: true, ..advised(open, advice) }
}

/// Whether the data directory is there, or can be made, and takes files.
pub(super) fn storage_path(folder: &Path) -> Check {
    let name = "storage_path";
    if let Err(failure) = folder::check(folder) {
        return check(name, CheckState::Failed, failure.envelope().to_string());
    }
    let place = existing(folder);
    let written = tempfile::Builder::new().prefix(".palyra-preflight").tempfile_in(place);
    // A full disk takes names, but nothing in them.
    let filled = written.and_then(|mut file| {
        file.write_all(&[0; ROOM_TO_START])?;
        file.as_file().sync_all()
    });
    match filled {
        Ok(()) if place == folder => {
            check(name, CheckState::Ok, format!("{} takes files", folder.display()))
        }
        Ok(()) => check(name, CheckState::Ok, format!("{} can be made", folder.display())),
        Err(error) if is_full(&error) => {
            let what = format!("{} is full", place.display());
            let full = StableErrorEnvelope::new(ErrorCode::StorageDiskFull, what);
            advised(check(name, CheckState::Failed, full.to_string()), MORE_SPACE)
        }
        Err(error) => {
            let what = format!("{} does not take files: {}", place.display(), error.kind());
            let closed = StableErrorEnvelope::new(ErrorCode::StorageReadOnly, what);
            let failed = check(name, CheckState::Failed, closed.to_string());
            advised(failed, "Give this user write permission there, or choose --data-dir.")
        }
    }
}

/// Whether a listener is allowed and its port free, or in use by the daemon of this directory.
pub(super) async fn bind(
    option: &str,
    address: SocketAddr,
    profile: DeploymentProfile,
    data_dir: &Path,
) -> Check {
    let name = format!("bind:{option}");
    match listen::tcp(option, address, profile).await {
        Ok(_) => check(&name, CheckState::Ok, format!("{address} is allowed and free")),
        Err(_) if is_ours(address, data_dir) => {
            let what = format!("{address} is in use by the daemon of this directory");
            check(&name, CheckState::Ok, what)
        }
        Err(failure) => {
            let envelope = failure.envelope();
            let failed = check(&name, CheckState::Failed, envelope.to_string());
            advised(failed, envelope.recovery_hint())
        }
    }
}

/// Whether the running daemon of this directory listens on the port, which a restart frees.
fn is_ours(address: SocketAddr, data_dir: &Path) -> bool {
    let socket = std::os::unix::net::UnixStream::connect(data_dir.join(SOCKET));
    let file = socket.and_then(|_| std::fs::read_to_string(data_dir.join(RUNTIME_FILE)));
    let running = file.ok().and_then(|text| serde_json::from_str::<Running>(&text).ok());
    running.is_some_and(|Running { http, grpc, .. }| {
        let bound = [http, grpc].into_iter().filter_map(|bound| bound.parse::<SocketAddr>().ok());
        bound.into_iter().any(|bound| bound.port() == address.port())
    })
}

/// Whether the database is whole, where it is a file that nobody has open.
pub(super) fn database(config: &Config, data_dir: &Path) -> Check {
    let name = "database";
    let options = OpenOptions {
        data_dir: data_dir.to_owned(),
        config: config.storage.clone(),
        migrations: MIGRATIONS,
    };
    match Database::examine(&options) {
        Ok(Some(file)) => check(name, CheckState::Ok, format!("{} is whole", file.display())),
        Ok(None) if config.storage.url.is_empty() => {
            check(name, CheckState::Skipped, "there is none yet")
        }
        Ok(None) => check(name, CheckState::Skipped, "the server of Postgres looks after it"),
        Err(StorageError::Locked { .. }) => {
            check(name, CheckState::Skipped, "a daemon has it open; `palyra doctor` asks that one")
        }
        Err(error) => {
            let envelope = error.envelope();
            let failed = check(name, CheckState::Failed, envelope.to_string());
            advised(failed, envelope.recovery_hint())
        }
    }
}

/// The folder, or the nearest above it that is there.
pub(super) fn existing(folder: &Path) -> &Path {
    folder.ancestors().find(|place| place.exists()).unwrap_or(Path::new("/"))
}
