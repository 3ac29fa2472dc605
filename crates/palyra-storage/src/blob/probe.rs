//! Finding out early whether blobs can be stored.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path as ObjectPath;
use object_store::{ObjectStoreExt, PutPayload};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::{BlobError, BlobStore};
use crate::engine::sqlite::migrate::from_io;
use crate::error::describe;
use crate::private;

/// No blob has a name like this one.
const NAME: &str = "palyra-probe";
pub(super) const PAUSE: Duration = Duration::from_secs(30);

/// Refuses a folder that cannot be written. One on a full disk can be, some day.
pub(super) fn check_folder(folder: &Path) -> Result<(), BlobError> {
    let file = folder.join(NAME);
    let tried = private::open_file(&file).and_then(|_| std::fs::remove_file(&file));
    match tried {
        Err(error)
            if !matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) =>
        {
            Err(from_io(folder, error).into())
        }
        Ok(()) | Err(_) => Ok(()),
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
        Ok(self.objects.delete(&name).await?)
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
