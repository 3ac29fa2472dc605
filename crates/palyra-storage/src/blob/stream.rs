//! Objects piece by piece, for backups, which hold no blob in memory as a whole. Everything here
//! blocks and belongs on a thread for such work.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::path::Path as ObjectPath;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use tokio::runtime::Handle;

use super::{BlobError, BlobId, BlobStore, object_path};
use crate::store::blobs::Stored;

impl BlobStore {
    /// Opens the object of a blob. `None` if it is not there or has another size than its row
    /// says.
    pub(crate) fn open_object(
        &self,
        runtime: &Handle,
        id: &BlobId,
        stored: &Stored,
    ) -> Result<Option<ObjectReader>, BlobError> {
        let path = object_path(id, &stored.place.generation);
        match runtime.block_on(self.objects.get(&path)) {
            Ok(found) if found.meta.size == stored.size => Ok(Some(ObjectReader {
                runtime: runtime.clone(),
                stream: found.into_stream(),
                chunk: Bytes::new(),
            })),
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The content of an object. A failure of the store is an [`io::Error`] that holds a
/// [`BlobError`].
pub(crate) struct ObjectReader {
    runtime: Handle,
    stream: BoxStream<'static, object_store::Result<Bytes>>,
    chunk: Bytes,
}

impl Read for ObjectReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.runtime.block_on(self.stream.next()) {
                None => return Ok(0),
                Some(Ok(chunk)) => self.chunk = chunk,
                Some(Err(error)) => return Err(io::Error::other(BlobError::from(error))),
            }
        }
        let length = into.len().min(self.chunk.len());
        into[..length].copy_from_slice(&self.chunk.split_to(length));
        Ok(length)
    }
}

/// Writes an object that nobody sees before [`ObjectWriter::finish`].
pub(crate) struct ObjectWriter {
    runtime: Handle,
    objects: Arc<dyn ObjectStore>,
    path: ObjectPath,
    /// Begun with the second piece.
    upload: Option<Box<dyn MultipartUpload>>,
    last: Option<Bytes>,
}

impl ObjectWriter {
    pub(crate) fn new(runtime: &Handle, objects: &Arc<dyn ObjectStore>, path: ObjectPath) -> Self {
        let (runtime, objects) = (runtime.clone(), objects.clone());
        Self { runtime, objects, path, upload: None, last: None }
    }

    /// Adds a piece. All but the last are of one size, at least 5 MiB: S3 asks for that.
    pub(crate) fn write(&mut self, piece: Bytes) -> Result<(), BlobError> {
        let Some(before) = self.last.replace(piece) else {
            return Ok(());
        };
        self.part(before)
    }

    fn part(&mut self, piece: Bytes) -> Result<(), BlobError> {
        let upload = match &mut self.upload {
            Some(upload) => upload,
            None => {
                let begun = self.runtime.block_on(self.objects.put_multipart(&self.path))?;
                self.upload.insert(begun)
            }
        };
        Ok(self.runtime.block_on(upload.put_part(PutPayload::from(piece)))?)
    }

    /// Makes it an object, on the disk.
    pub(crate) fn finish(mut self) -> Result<(), BlobError> {
        let last = self.last.take().unwrap_or_default();
        if self.upload.is_none() {
            let put = self.objects.put(&self.path, PutPayload::from(last));
            self.runtime.block_on(put)?;
            return Ok(());
        }
        self.part(last)?;
        if let Some(mut upload) = self.upload.take() {
            self.runtime.block_on(upload.complete())?;
        }
        Ok(())
    }

    /// Leaves nothing behind.
    pub(crate) fn abort(mut self) {
        if let Some(mut upload) = self.upload.take() {
            // What cannot be taken back is garbage without a name.
            let _ = self.runtime.block_on(upload.abort());
        }
    }
}
