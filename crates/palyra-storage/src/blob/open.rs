//! Opening the blob store that the configuration names.

use std::path::Path;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use palyra_common::time::Clock;

use super::place::Place;
use super::{BlobError, BlobStore, S3Credentials, s3};
use crate::private;
use crate::{Database, EngineKind, StorageConfig, StorageError};

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
        match Place::of(config)? {
            Place::DataDir => {
                if db.engine() == EngineKind::Postgres {
                    tracing::warn!(
                        "blobs are kept on this node only: nodes that share a database need \
                         storage.blobs to name a folder or bucket that they share"
                    );
                }
                Self::in_folder(db, clock, &data_dir.join("blobs"))
            }
            Place::Folder(folder) => Self::in_folder(db, clock, &folder),
            Place::S3(bucket) => Ok(Self::new(db, clock, s3::open(bucket, credentials()?)?)),
        }
    }

    /// Blobs in a folder of this machine, made if it is not there. What was put is on the disk
    /// before its row says so.
    pub fn in_folder(
        db: Database,
        clock: Arc<dyn Clock>,
        folder: &Path,
    ) -> Result<Self, BlobError> {
        private::make_directory(folder).map_err(|error| BlobError::unavailable(error.into()))?;
        let objects = LocalFileSystem::new_with_prefix(folder).map_err(BlobError::from)?;
        Ok(Self::new(db, clock, Arc::new(objects.with_fsync(true))))
    }
}
