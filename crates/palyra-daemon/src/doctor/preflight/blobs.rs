//! Whether blobs can be kept where the configuration says, tried before a start.

use std::io::ErrorKind;
use std::path::Path;

use palyra_common::api::{Check, CheckState};
use palyra_common::deployment_profiles::PreflightCheck;
use palyra_storage::blob::{BlobError, BlobTrial, S3Credentials};
use palyra_storage::{StorageConfig, StorageError};

use super::{in_time, milliseconds, silence};
use crate::config::Config;
use crate::doctor::{advised, check, checks};

/// A start fails for what this check fails for. One for which the round trip alone fails comes up, and
/// tries the place again until it can be used.
const PLACE: &str = "blob_place";
const ROUND_TRIP: PreflightCheck = PreflightCheck::BlobRoundTrip;

pub(super) async fn all(config: &Config, data_dir: &Path) -> Vec<Check> {
    if config.storage.blobs.is_empty() {
        let seen = "storage.blobs is empty, so blobs are in the data directory of this node";
        let advice = "Set storage.blobs to a folder or an S3 bucket that all nodes share.";
        return without_trip(advised(check(PLACE, CheckState::Failed, seen), advice));
    }
    let (storage, data_dir) = (config.storage.clone(), data_dir.to_owned());
    // In a thread of its own: a share that is away keeps whoever looks at it waiting.
    let opening = in_time(tokio::task::spawn_blocking(move || open(&storage, &data_dir))).await;
    let opened = match opening {
        Some(Ok(opened)) => opened,
        Some(Err(_)) => {
            let error = StorageError::internal("opening the place of blobs panicked");
            Err(failed(PLACE, &error.into()))
        }
        None => Err(failed(PLACE, &BlobError::Unavailable(silence()))),
    };
    match opened {
        Ok(trial) => {
            let seen = format!("{} can be opened", trial.place());
            vec![check(PLACE, CheckState::Ok, seen), round_trip(&trial).await]
        }
        Err(unusable) => without_trip(unusable),
    }
}

fn open(config: &StorageConfig, data_dir: &Path) -> Result<BlobTrial, Check> {
    if let Some(missing) = config.blobs_folder().as_deref().and_then(missing) {
        return Err(missing);
    }
    let opened = BlobTrial::open(config, data_dir, S3Credentials::from_env);
    opened.map_err(|error| failed(PLACE, &error))
}

/// A folder that is not there is not made: it may be a share that is not mounted, and then what is
/// put into it is on this node alone.
fn missing(folder: &Path) -> Option<Check> {
    match std::fs::metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        // Whatever else is wrong with it is found by opening it.
        Ok(_) | Err(_) => return None,
    }
    let above = checks::existing(folder);
    if rustix::fs::access(above, rustix::fs::Access::WRITE_OK).is_err() {
        let seen = format!("{} is not there and cannot be made", folder.display());
        let advice = format!("Make it, or let this user write to {}.", above.display());
        return Some(advised(check(PLACE, CheckState::Failed, seen), advice));
    }
    let seen = format!("{} is not there; a start makes it", folder.display());
    let advice =
        "If it is a share of all nodes, mount it first: a folder made here is this node's.";
    Some(advised(check(PLACE, CheckState::Warning, seen), advice))
}

async fn round_trip(trial: &BlobTrial) -> Check {
    let name = ROUND_TRIP.as_str();
    match in_time(trial.round_trip()).await {
        Some(Ok(took)) => {
            let seen = format!("one was put, read and deleted in {}", milliseconds(took));
            check(name, CheckState::Ok, seen)
        }
        Some(Err(error)) => failed(name, &error),
        None => failed(name, &BlobError::Unavailable(silence())),
    }
}

fn without_trip(place: Check) -> Vec<Check> {
    let seen = "not tried: there is no place to use";
    vec![place, check(ROUND_TRIP.as_str(), CheckState::Skipped, seen)]
}

fn failed(name: &str, error: &BlobError) -> Check {
    let envelope = error.envelope();
    let failed = check(name, CheckState::Failed, envelope.to_string());
    advised(failed, envelope.recovery_hint())
}
