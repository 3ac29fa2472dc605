//! Whether blobs can be kept where the configuration says, tried before a start.

use std::path::Path;

use palyra_common::api::{Check, CheckState};
use palyra_common::deployment_profiles::PreflightCheck;
use palyra_storage::blob::{BlobError, BlobTrial, S3Credentials};
use palyra_storage::{StorageConfig, StorageError};

use super::{in_time, milliseconds, missing, silence};
use crate::config::Config;
use crate::doctor::{advised, check};

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
    if let Some(missing) = config.blobs_folder().and_then(|folder| missing(PLACE, &folder)) {
        return Err(missing);
    }
    let opened = BlobTrial::open(config, data_dir, S3Credentials::from_env);
    opened.map_err(|error| failed(PLACE, &error))
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
