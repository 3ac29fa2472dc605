//! Blobs: attachments, large results, artifacts. Content is stored once under its SHA-256; rows
//! say what is there and who holds it.
//!
//! The row is written before the object and removed after it, so nothing in the object store is
//! ever without a row, and a collection that dies half-way is finished by the next.

mod collect;
mod error;
mod open;
pub(crate) mod place;
mod probe;
mod s3;
mod stream;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use palyra_common::ids::EventId;
use palyra_common::time::{Clock, Timestamp};
use sha2::{Digest, Sha256};

pub use collect::COLLECT_AFTER;
pub use error::BlobError;
pub(crate) use open::{FOLDER, open_objects};
pub use probe::BlobTrial;
pub(crate) use probe::NAME as PROBE;
pub use s3::S3Credentials;
pub(crate) use stream::{ObjectReader, ObjectWriter};

use crate::store::blobs::{self as rows, Located};
use crate::{Database, StorageError, Tx};

/// How often a put starts again when the blob is collected under its hands.
const PUT_ATTEMPTS: usize = 4;

/// The name of a blob: the SHA-256 of its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(String);

impl BlobId {
    /// The name of `content`.
    pub fn of(content: &[u8]) -> Self {
        let hash: [u8; 32] = Sha256::digest(content).into();
        Self(hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for BlobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for BlobId {
    type Err = StorageError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 64 && text.bytes().all(hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(StorageError::InvalidValue {
                what: format!("a blob is named by 64 lower-case hexadecimal digits, not {text:?}"),
            })
        }
    }
}

/// The blob store.
#[derive(Clone)]
pub struct BlobStore {
    db: Database,
    clock: Arc<dyn Clock>,
    objects: Arc<dyn ObjectStore>,
    /// Where they are, for people.
    place: Arc<str>,
    watch: Option<Arc<probe::Watch>>,
}

impl BlobStore {
    /// Blobs in any object store.
    pub fn new(db: Database, clock: Arc<dyn Clock>, objects: Arc<dyn ObjectStore>) -> Self {
        let place = objects.to_string().into();
        Self { db, clock, objects, place, watch: None }
    }

    /// Stores `content`, once however often it is put. It stays for a day; what is to stay longer
    /// is held.
    pub async fn put(&self, content: Bytes) -> Result<BlobId, BlobError> {
        let id = BlobId::of(&content);
        let size = i64::try_from(content.len()).unwrap_or(i64::MAX);
        for _ in 0..PUT_ATTEMPTS {
            if self.put_once(&id, size, &content).await? {
                return Ok(id);
            }
        }
        Err(BlobError::unavailable("the blob was collected again and again".into()))
    }

    async fn put_once(&self, id: &BlobId, size: i64, content: &Bytes) -> Result<bool, BlobError> {
        let generation = crate::clock::new_id::<EventId>().to_string();
        let now = self.clock.now();
        let blob = Located { sha256: id.0.clone(), generation };
        let wanted = blob.clone();
        let begun = self.db.write(move |tx| rows::begin_put(tx, &wanted, size, now)).await?;
        crate::crash_point!("blob.after_begin");
        let blob = Located { generation: begun.generation, ..blob };
        let path = object_path(id, &blob.generation);
        // A row can outlive its object, or half of it, when somebody works in the folder by hand:
        // put mends it.
        if begun.already_there
            && self
                .objects
                .head(&path)
                .await
                .is_ok_and(|object| object.size == content.len() as u64)
        {
            return Ok(true);
        }
        self.objects.put(&path, PutPayload::from(content.clone())).await?;
        crate::crash_point!("blob.after_upload");
        let now = self.clock.now();
        Ok(self.db.write(move |tx| rows::finish_put(tx, &blob, now)).await?)
    }

    /// The whole content, checked against its name.
    pub async fn get(&self, id: &BlobId) -> Result<Bytes, BlobError> {
        let (path, _) = self.locate(id).await?;
        let content = self.fetched(id, self.objects.get(&path).await)?.bytes().await?;
        if BlobId::of(&content) == *id {
            Ok(content)
        } else {
            Err(BlobError::Corrupt { id: id.clone() })
        }
    }

    /// A part of the content, cut to what there is. Parts are not checked against the name.
    pub async fn get_range(&self, id: &BlobId, range: Range<u64>) -> Result<Bytes, BlobError> {
        let (path, size) = self.locate(id).await?;
        let range = range.start.min(size)..range.end.min(size);
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        self.fetched(id, self.objects.get_range(&path, range).await)
    }

    /// The size of a blob, if it is there.
    pub async fn size(&self, id: &BlobId) -> Result<Option<u64>, BlobError> {
        let id = id.clone();
        let found = self.db.read(move |tx| rows::find_live(tx, id.as_str())).await?;
        Ok(found.map(|(_, size)| size))
    }

    /// How many blobs there are, and their bytes together.
    pub async fn totals(&self) -> Result<(u64, u64), BlobError> {
        Ok(self.db.read(rows::totals).await?)
    }

    /// Holds a blob for `holder`, in the transaction that writes what refers to it. Refused if
    /// the blob is not there (any more): put it first. Holding twice is holding once.
    pub fn hold(
        tx: &mut Tx<'_>,
        id: &BlobId,
        holder: &str,
        now: Timestamp,
    ) -> Result<(), BlobError> {
        if rows::hold(tx, id.as_str(), holder, now)? {
            Ok(())
        } else {
            Err(BlobError::NotFound { id: id.clone() })
        }
    }

    /// Whether `holder` holds a blob.
    pub fn is_held(tx: &mut Tx<'_>, id: &BlobId, holder: &str) -> Result<bool, StorageError> {
        rows::is_held(tx, id.as_str(), holder)
    }

    /// Ends the hold of `holder`. A blob that nobody holds is collected after a day.
    pub fn let_go(
        tx: &mut Tx<'_>,
        id: &BlobId,
        holder: &str,
        now: Timestamp,
    ) -> Result<(), BlobError> {
        Ok(rows::let_go(tx, id.as_str(), holder, now)?)
    }

    async fn locate(&self, id: &BlobId) -> Result<(ObjectPath, u64), BlobError> {
        let wanted = id.clone();
        match self.db.read(move |tx| rows::find_live(tx, wanted.as_str())).await? {
            Some((generation, size)) => Ok((object_path(id, &generation), size)),
            None => Err(BlobError::NotFound { id: id.clone() }),
        }
    }

    /// A live row without its object is damage, not absence.
    fn fetched<T>(&self, id: &BlobId, got: object_store::Result<T>) -> Result<T, BlobError> {
        got.map_err(|error| match error {
            object_store::Error::NotFound { .. } => BlobError::Corrupt { id: id.clone() },
            other => other.into(),
        })
    }
}

impl std::fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let objects = self.objects.to_string();
        f.debug_struct("BlobStore").field("objects", &objects).finish_non_exhaustive()
    }
}

/// Spread over 256 folders, because some file systems slow down in large ones.
pub(crate) fn object_path(id: &BlobId, generation: &str) -> ObjectPath {
    ObjectPath::from(format!("{}/{id}.{generation}", &id.0[..2]))
}
