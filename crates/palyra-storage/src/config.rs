//! What an operator can choose about storage: section `[storage]` of `palyra.toml`.

mod url;

use palyra_common::time::Duration;
use serde::Deserialize;

pub use url::StorageUrl;

use crate::StorageError;
use crate::blob::place::Place;

/// Section `[storage]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageConfig {
    /// `postgres://…` for a server that several nodes share. Empty: one SQLite file in the data
    /// directory.
    pub url: StorageUrl,
    /// How many connections write to Postgres at once.
    pub connections: u32,
    /// How many connections read at once.
    pub readers: u32,
    /// How many writes, and as many reads, may wait; more callers wait to be let in.
    pub queue: u32,
    /// How long opening and each write are tried again while Postgres is away.
    pub retry_for: Duration,
    /// How long a lease lasts unless it is renewed.
    pub lease_ttl: Duration,
    /// The largest size of the SQLite file in bytes. 0: as large as the disk allows.
    pub max_bytes: u64,
    /// Where blobs are: an absolute folder, `file:///folder` or `s3://bucket/prefix`. Empty:
    /// folder `blobs` in the data directory.
    pub blobs: String,
    /// The address of the S3-compatible service. Empty: Amazon's of the region.
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
            retry_for: Duration::from_secs(30),
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
}
