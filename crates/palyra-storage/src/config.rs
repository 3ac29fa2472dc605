//! What an operator can choose about storage: section `[storage]` of `palyra.toml`.

mod url;

use std::path::PathBuf;

use palyra_common::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use url::StorageUrl;

use crate::StorageError;
use crate::blob::place::Place;

/// Section `[storage]`. The comments on its options are what users read in the example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StorageConfig {
    /// A database that several nodes share, as `postgres://user@host/name`. Empty: one SQLite file
    /// in the data directory. The connection is not encrypted: use a Unix socket, this machine or
    /// a private network.
    #[schemars(with = "String")]
    pub url: StorageUrl,
    /// How many connections write to Postgres at once.
    pub connections: u32,
    /// How many connections read at once, on either engine.
    pub readers: u32,
    /// How many writes, and as many reads, may wait in line. Further callers wait to be let in.
    pub queue: u32,
    /// How long starting, and then each read and write, is tried again while Postgres is away. Keep it
    /// below `http.request_timeout`, or a request ends before it can say what is wrong.
    #[schemars(with = "String")]
    pub retry_for: Duration,
    /// How long a lease of this node lasts unless it is renewed: after that, other nodes take
    /// over.
    #[schemars(with = "String")]
    pub lease_ttl: Duration,
    /// The largest size of the SQLite file in bytes. 0: as large as the disk allows.
    pub max_bytes: u64,
    /// Where attachments and other large content are kept: an absolute folder, `file:///folder`,
    /// or `s3://bucket/prefix` for S3 and what speaks its language. Empty: folder blobs in the
    /// data directory. Nodes that share a database have to share this too. Nothing is moved when
    /// it changes.
    ///
    /// The key for S3 is never in this file: set `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and,
    /// for a key that expires, `AWS_SESSION_TOKEN`. It needs to read, write and delete objects and
    /// to list the bucket.
    pub blobs: String,
    /// The address of an S3-compatible service, such as `http://127.0.0.1:9000` for a MinIO on
    /// this machine. Any other machine needs https. Empty: Amazon's of the region.
    pub blobs_endpoint: String,
    /// The region of the bucket.
    pub blobs_region: String,
}

impl Default for StorageConfig {
    fn default() -> Self {
        Self {
            url: StorageUrl::default(),
            connections: 8,
            readers: 3,
            queue: 4_096,
            retry_for: Duration::from_secs(10),
            lease_ttl: Duration::from_secs(10),
            max_bytes: 0,
            blobs: String::new(),
            blobs_endpoint: String::new(),
            blobs_region: "us-east-1".into(),
        }
    }
}

impl StorageConfig {
    /// Refuses values that cannot work.
    pub fn check(&self) -> Result<(), StorageError> {
        self.url.server()?;
        let refuse = |what: &str| Err(StorageError::InvalidValue { what: what.into() });
        if !(1..=256).contains(&self.connections) || !(1..=256).contains(&self.readers) {
            return refuse("storage.connections and storage.readers are from 1 to 256");
        }
        if !(1..=1_000_000).contains(&self.queue) {
            return refuse("storage.queue is from 1 to 1000000");
        }
        if self.lease_ttl < Duration::from_secs(1) {
            return refuse("storage.lease_ttl is at least 1s");
        }
        Place::of(self).map(drop)
    }

    /// The folder of its own that blobs are kept in, if they are kept in one.
    pub fn blobs_folder(&self) -> Option<PathBuf> {
        match Place::of(self) {
            Ok(Place::Folder(folder)) => Some(folder),
            Ok(Place::DataDir | Place::S3(_)) | Err(_) => None,
        }
    }

    /// Whether blobs are kept on S3, whose key comes from the environment.
    pub fn blobs_on_s3(&self) -> bool {
        matches!(Place::of(self), Ok(Place::S3(_)))
    }
}
