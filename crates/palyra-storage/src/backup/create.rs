//! Making a backup while everybody works on.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use palyra_common::time::Clock;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::rows::{self, Job};
use super::{BackupError, Missing, Progress};
use crate::blob::BlobStore;
use crate::lease::{Lease, LeaseName, Leases};
use crate::{Database, StorageError, private, retention};

/// How long a round of retention that is under way is waited for. Nothing is sent meanwhile, and our
/// client takes 120 s of silence for a broken connection: it is to hear why there is no backup.
const LEASE_WAIT: Duration = Duration::from_secs(90);
const LEASE_PAUSE: Duration = Duration::from_millis(50);
/// Renewals within the life of a lease, so that one lost try costs nothing.
const RENEWALS_PER_TTL: u32 = 3;

/// What a backup is made of.
#[derive(Clone)]
pub struct Source {
    /// The database.
    pub db: Database,
    /// Its blobs.
    pub blobs: BlobStore,
    /// The leases of this node: no blob is collected while the backup is made.
    pub leases: Leases,
    /// Tells when it was made.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("db", &self.db).finish_non_exhaustive()
    }
}

/// A backup that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The schema of its rows.
    pub schema: i64,
    /// How much is in it.
    pub content: Progress,
    /// Blobs that the database knows and whose content is missing or damaged: a warning to pass
    /// on. Everything else is in the backup.
    pub missing: Missing,
    /// The size of the file.
    pub file_bytes: u64,
}

/// Writes a backup to `out`, of one consistent state, and returns `out` when all of it was
/// written. Whether it is on a disk is for the caller to see to.
///
/// It reads on a connection of its own and takes neither readers nor writers away from anybody.
/// Retention rests meanwhile, on all nodes. Of each blob about 200 bytes are kept in memory.
pub async fn create<W>(
    source: &Source,
    out: W,
    progress: watch::Sender<Progress>,
) -> Result<(Created, W), BackupError>
where
    W: Write + Send + 'static,
{
    let mut held = HeldLease::take(source).await?;
    let stop = Stop(Arc::new(AtomicBool::new(false)));
    let job =
        Job { source: source.clone(), stop: stop.0.clone(), progress, runtime: Handle::current() };
    let mut writing = tokio::task::spawn_blocking(move || rows::write(&job, out));
    let written = tokio::select! {
        written = &mut writing => written,
        lost = held.keep() => {
            drop(stop);
            // It ends at its next row.
            let _ = writing.await;
            return Err(lost.into());
        }
    };
    let written = written
        .unwrap_or_else(|_| Err(StorageError::internal("writing the backup panicked").into()));
    // A blob is only missing if nobody else could have collected it.
    let still_held = source.leases.prolong(&held.lease).await;
    held.release().await;
    let written = written?;
    still_held?;
    Ok(written)
}

/// Makes a backup as a file that others cannot read. It has its name only when it is whole and
/// on the disk; a file of that name is never overwritten.
pub async fn create_file(
    source: &Source,
    path: &Path,
    progress: watch::Sender<Progress>,
) -> Result<Created, BackupError> {
    if path.exists() {
        let there = io::Error::new(io::ErrorKind::AlreadyExists, "there is a file of that name");
        return Err(BackupError::Output(there));
    }
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = Path::new(&unfinished);
    let created = write_file(source, unfinished, path, progress).await;
    if created.is_err() {
        // What is left of it is of no use, and the error is the one to be told.
        let _ = std::fs::remove_file(unfinished);
    }
    created
}

async fn write_file(
    source: &Source,
    unfinished: &Path,
    path: &Path,
    progress: watch::Sender<Progress>,
) -> Result<Created, BackupError> {
    let begin = || {
        let file = private::open_file(unfinished)?;
        file.set_len(0)?;
        Ok(BufWriter::new(file))
    };
    let out = begin().map_err(BackupError::Output)?;
    let (created, out) = create(source, out, progress).await?;
    let publish = || {
        let file: File = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        std::fs::rename(unfinished, path)?;
        private::sync_folder_of(path)
    };
    publish().map_err(BackupError::Output)?;
    Ok(created)
}

/// Tells the thread to stop when nobody waits for it any more.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The lease of retention: no blob that the snapshot sees is claimed for deletion after it was
/// taken, because claims are fenced.
struct HeldLease<'a> {
    source: &'a Source,
    lease: Lease,
    released: bool,
}

impl<'a> HeldLease<'a> {
    async fn take(source: &'a Source) -> Result<Self, StorageError> {
        let name = LeaseName::new(retention::LEASE);
        let taken = async {
            loop {
                if let Some(lease) = source.leases.try_take(&name).await? {
                    return Ok(Self { source, lease, released: false });
                }
                tokio::time::sleep(LEASE_PAUSE).await;
            }
        };
        let waited = "retention has been at work for two minutes";
        let busy = || StorageError::Busy(Arc::new(io::Error::other(waited)));
        tokio::time::timeout(LEASE_WAIT, taken).await.unwrap_or_else(|_| Err(busy()))
    }

    /// Returns when the lease is lost. A renewal that fails otherwise is tried again: as long as
    /// nobody has taken the lease, nothing is lost.
    async fn keep(&self) -> StorageError {
        let every = Duration::from(self.source.leases.ttl()) / RENEWALS_PER_TTL;
        loop {
            tokio::time::sleep(every).await;
            match self.source.leases.prolong(&self.lease).await {
                Err(lost @ (StorageError::StaleLease { .. } | StorageError::ShuttingDown)) => {
                    return lost;
                }
                Err(error) => tracing::debug!(%error, "the lease of a backup was not renewed"),
                Ok(()) => {}
            }
        }
    }

    async fn release(&mut self) {
        self.released = true;
        if let Err(error) = self.source.leases.release(self.lease.clone()).await {
            // The renewals of the node give it back, or it runs out.
            tracing::warn!(%error, "the lease of a backup was not given back");
        }
    }
}

impl Drop for HeldLease<'_> {
    fn drop(&mut self) {
        if !self.released {
            // Nobody holds it any more: the renewals of the node give it back.
            self.source.db.held_leases().remove(&self.lease);
        }
    }
}
