//! Finding out early whether blobs can be stored.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use palyra_common::ids::EventId;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::place::Place;
use super::{BlobError, BlobStore, S3Credentials, open_objects};
use crate::engine::sqlite::migrate::from_io;
use crate::error::describe;
use crate::private::{self, absent};
use crate::{StorageConfig, StorageError};

/// No blob has a name like this one.
pub(crate) const NAME: &str = "palyra-probe";
pub(super) const PAUSE: Duration = Duration::from_secs(30);

/// Refuses a folder that cannot be written. One on a full disk can be, some day.
pub(super) fn check_folder(folder: &Path) -> Result<(), BlobError> {
    let file = folder.join(NAME);
    // Another node may try the same folder at the same moment, and take the file away.
    let tried = private::open_file(&file).and_then(|_| absent(std::fs::remove_file(&file)));
    match tried {
        Err(error)
            if !matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) =>
        {
            Err(from_io(folder, error).into())
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The place of blobs without the rows about them: for a look before a start.
pub struct BlobTrial {
    objects: Arc<dyn ObjectStore>,
    place: Place,
}

impl BlobTrial {
    /// Refuses what [`BlobStore::open`] refuses. A folder is made if it is not there, and looked at,
    /// for as long as that takes.
    pub fn open(
        config: &StorageConfig,
        data_dir: &Path,
        credentials: impl FnOnce() -> Result<S3Credentials, StorageError>,
    ) -> Result<Self, BlobError> {
        let place = Place::of(config)?;
        Ok(Self { objects: open_objects(config, data_dir, credentials)?, place })
    }

    /// Where it is, for people.
    pub fn place(&self) -> String {
        match &self.place {
            Place::DataDir => "the data directory".to_owned(),
            Place::Folder(folder) => folder.display().to_string(),
            Place::S3(bucket) => bucket.to_string(),
        }
    }

    /// Puts a small object, reads it and deletes it; says how long that took. Its name is its own,
    /// because several nodes may do so at the same moment.
    pub async fn round_trip(&self) -> Result<Duration, BlobError> {
        let content = crate::clock::new_id::<EventId>().to_string();
        let name = ObjectPath::from(format!("{NAME}-{content}"));
        let began = Instant::now();
        self.objects.put(&name, PutPayload::from(content.clone())).await?;
        let read = async { self.objects.get(&name).await?.bytes().await }.await;
        // Whatever came back, it is not left behind.
        let deleted = self.objects.delete(&name).await;
        if read? != content.as_bytes() {
            return Err(BlobError::unavailable("something else came back than was put".into()));
        }
        deleted?;
        Ok(began.elapsed())
    }
}

/// A task that ends with the last clone of its store.
pub(super) struct Watch(JoinHandle<()>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl BlobStore {
    /// Stores a small object and deletes it: whether the store can be used.
    pub async fn probe(&self) -> Result<(), BlobError> {
        let name = ObjectPath::from(NAME);
        self.objects.put(&name, PutPayload::from_static(b"palyra")).await?;
        match self.objects.delete(&name).await {
            // Another node tried at the same moment.
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Probes in the background until it works, every `pause`. A service that is away is no
    /// reason not to start, but one to say so at once and not with the first attachment. Outside
    /// of a runtime nothing is probed.
    #[must_use]
    pub fn watched(mut self, pause: Duration) -> Self {
        if let Ok(runtime) = Handle::try_current() {
            let unwatched = self.clone();
            let watching = async move { unwatched.probe_until_usable(pause).await };
            self.watch = Some(Arc::new(Watch(runtime.spawn(watching))));
        }
        self
    }

    async fn probe_until_usable(&self, pause: Duration) {
        let place = &*self.place;
        let mut told = false;
        while let Err(error) = self.probe().await {
            if !told {
                told = true;
                tracing::warn!(code = %error.code(), error = %describe(&error), place,
                    to_do = error.code().hint(), "blobs cannot be stored, trying again");
            }
            tokio::time::sleep(pause).await;
        }
        if told {
            tracing::info!(place, "blobs can be stored again");
        }
    }
}
