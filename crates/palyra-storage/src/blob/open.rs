//! Opening the blob store that the configuration names.

use std::path::Path;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use palyra_common::time::Clock;

use super::place::Place;
use super::{BlobError, BlobStore, S3Credentials, s3};
use crate::private;
use crate::{Database, EngineKind, StorageConfig, StorageError};

/// Where they are in the data directory unless told otherwise.
pub(crate) const FOLDER: &str = "blobs";

impl BlobStore {
    /// Blobs where the configuration says; on S3 with the credentials of the environment.
    pub fn open(
        db: Database,
        clock: Arc<dyn Clock>,
        config: &StorageConfig,
        data_dir: &Path,
    ) -> Result<Self, BlobError> {
        Self::open_as(db, clock, config, data_dir, S3Credentials::from_env)
    }

    /// Like [`BlobStore::open`]; on S3 with the credentials that `credentials` gives.
    pub fn open_as(
        db: Database,
        clock: Arc<dyn Clock>,
        config: &StorageConfig,
        data_dir: &Path,
        credentials: impl FnOnce() -> Result<S3Credentials, StorageError>,
    ) -> Result<Self, BlobError> {
        if db.engine() == EngineKind::Postgres && Place::of(config)? == Place::DataDir {
            tracing::warn!(
                "blobs are kept on this node only: nodes that share a database need \
                 storage.blobs to name a folder or bucket that they share"
            );
        }
        Ok(Self::new(db, clock, open_objects(config, data_dir, credentials)?))
    }

    /// Blobs in a folder of this machine, made if it is not there. What was put is on the disk
    /// before its row says so.
    pub fn in_folder(
        db: Database,
        clock: Arc<dyn Clock>,
        folder: &Path,
    ) -> Result<Self, BlobError> {
        Ok(Self::new(db, clock, folder_objects(folder)?))
    }
}

/// The objects where the configuration says, without the rows about them.
pub(crate) fn open_objects(
    config: &StorageConfig,
    data_dir: &Path,
    credentials: impl FnOnce() -> Result<S3Credentials, StorageError>,
) -> Result<Arc<dyn ObjectStore>, BlobError> {
    match Place::of(config)? {
        Place::DataDir => folder_objects(&data_dir.join(FOLDER)),
        Place::Folder(folder) => folder_objects(&folder),
        Place::S3(bucket) => s3::open(bucket, credentials()?),
    }
}

fn folder_objects(folder: &Path) -> Result<Arc<dyn ObjectStore>, BlobError> {
    private::make_directory(folder).map_err(|error| BlobError::unavailable(error.into()))?;
    let objects = LocalFileSystem::new_with_prefix(folder).map_err(BlobError::from)?;
    Ok(Arc::new(objects.with_fsync(true)))
}
