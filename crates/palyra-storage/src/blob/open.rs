//! Opening the blob store that the configuration names.

use std::path::Path;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use palyra_common::time::Clock;

use super::place::Place;
use super::{BlobError, BlobStore, S3Credentials, probe, s3};
use crate::engine::sqlite::migrate::from_io;
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
        let store = Self::open_as(db, clock, config, data_dir, S3Credentials::from_env)?;
        Ok(match Place::of(config)? {
            Place::DataDir | Place::Folder(_) => store,
            Place::S3(_) => store.watched(probe::PAUSE),
        })
    }

    /// Refuses a place or a key that [`BlobStore::open`] would refuse, before anything is opened.
    /// The key is read with `credentials`, such as [`S3Credentials::from_env`].
    pub fn check(
        config: &StorageConfig,
        credentials: impl FnOnce() -> Result<S3Credentials, StorageError>,
    ) -> Result<(), StorageError> {
        match Place::of(config)? {
            Place::DataDir | Place::Folder(_) => Ok(()),
            Place::S3(_) => credentials().map(drop),
        }
    }

    /// Like [`BlobStore::open`]; on S3 with the credentials that `credentials` gives.
    pub fn open_as(
        db: Database,
        clock: Arc<dyn Clock>,
        config: &StorageConfig,
        data_dir: &Path,
        credentials: impl FnOnce() -> Result<S3Credentials, StorageError>,
    ) -> Result<Self, BlobError> {
        let place = Place::of(config)?;
        if db.engine() == EngineKind::Postgres && place == Place::DataDir {
            tracing::warn!(
                "blobs are kept on this node only: nodes that share a database need \
                 storage.blobs to name a folder or bucket that they share"
            );
        }
        let store = Self::new(db, clock, open_objects(config, data_dir, credentials)?);
        Ok(match place {
            Place::DataDir | Place::Folder(_) => store,
            Place::S3(bucket) => Self { place: bucket.to_string().into(), ..store },
        })
    }

    /// Blobs in a folder of this machine, made if it is not there. What was put is on the disk
    /// before its row says so. Refused if it cannot be written.
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
    private::make_directory(folder).map_err(|error| from_io(folder, error))?;
    probe::check_folder(folder)?;
    let objects = LocalFileSystem::new_with_prefix(folder).map_err(BlobError::from)?;
    Ok(Arc::new(objects.with_fsync(true)))
}
