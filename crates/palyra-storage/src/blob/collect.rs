//! Removing blobs that nobody needs any more.

use object_store::ObjectStoreExt;
use palyra_common::time::Duration;

use super::{BlobError, BlobId, BlobStore, Located, object_path, rows};
use crate::lease::Lease;
use crate::store::blob_trash;
use crate::{Tx, crash_point};

/// A blob is collected when nobody has held it for this long.
pub const COLLECT_AFTER: Duration = Duration::from_hours(24);

impl BlobStore {
    /// Removes up to `limit` blobs that nobody has held for [`COLLECT_AFTER`]. Says how many. What
    /// cannot be removed does not keep the others; the first failure is returned at the end.
    ///
    /// First the rows say `deleting`, so that nobody can take hold of them any more, then the
    /// objects go, then the rows. Whoever puts the same content meanwhile gets a new object
    /// under a new name, which this does not touch.
    pub async fn collect(&self, limit: u32) -> Result<u64, BlobError> {
        let (collected, failed) = self.collect_under(None, limit).await?;
        failed.map_or(Ok(collected), Err)
    }

    /// The same under a lease: whoever takes it over finds no blob claimed after that. What was
    /// claimed before is no longer live, so its objects may still go. Also says why something could not
    /// be removed.
    pub(crate) async fn collect_under(
        &self,
        lease: Option<&Lease>,
        limit: u32,
    ) -> Result<(u64, Option<BlobError>), BlobError> {
        let (before, lease) = (self.clock.now() - COLLECT_AFTER, lease.cloned());
        let claim = move |tx: &mut Tx<'_>| {
            lease.iter().try_for_each(|lease| lease.fence(tx))?;
            rows::claim_unheld(tx, before, limit)
        };
        let unheld = self.db.write(claim).await?;
        let (mut collected, mut failed) = (0, None);
        for blob in unheld {
            match self.delete(&blob).await {
                Ok(()) => {
                    self.db.write(move |tx| rows::remove(tx, &blob)).await?;
                    collected += 1;
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        for blob in self.db.read(move |tx| blob_trash::some(tx, limit)).await? {
            match self.delete(&blob).await {
                Ok(()) => self.db.write(move |tx| blob_trash::remove(tx, &blob)).await?,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Ok((collected, failed))
    }

    async fn delete(&self, blob: &Located) -> Result<(), BlobError> {
        let id: BlobId = blob.sha256.parse()?;
        crash_point!("blob.before_delete");
        match self.objects.delete(&object_path(&id, &blob.generation)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        crash_point!("blob.after_delete");
        Ok(())
    }
}
