//! Where blobs are kept, read from the configuration.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use object_store::path::Path as ObjectPath;
use reqwest::Url;

use crate::{StorageConfig, StorageError};

/// Where blobs are kept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    /// Folder `blobs` of the data directory.
    DataDir,
    /// A folder of its own.
    Folder(PathBuf),
    /// A bucket of S3, or of a service that speaks its language.
    S3(Bucket),
}

/// A bucket, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bucket {
    pub(crate) name: String,
    /// What the name of every object begins with; empty for the whole bucket.
    pub(crate) prefix: ObjectPath,
    pub(crate) region: String,
    /// None: Amazon's own of that region.
    pub(crate) endpoint: Option<Endpoint>,
}

/// The address of a service.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) reach: Reach,
}

/// How a service is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Over a network, encrypted.
    Network,
    /// On this machine, encrypted.
    Loopback,
    /// On this machine, in the clear.
    PlainLoopback,
}

impl Place {
    /// Reads the place. What is refused is not repeated: it may hold a password.
    pub(crate) fn of(config: &StorageConfig) -> Result<Self, StorageError> {
        let blobs = config.blobs.as_str();
        if let Some(rest) = blobs.strip_prefix("s3://") {
            return Bucket::parse(rest, config).map(Place::S3);
        }
        if !config.blobs_endpoint.is_empty() {
            return refuse("storage.blobs_endpoint is only for storage.blobs = \"s3://…\"");
        }
        if blobs.is_empty() {
            return Ok(Place::DataDir);
        }
        let folder = match Url::parse(blobs) {
            Ok(url) if url.scheme() == "file" => url.to_file_path().ok(),
            Ok(_) => None,
            Err(_) => Some(PathBuf::from(blobs)),
        };
        match folder.filter(|folder| folder.is_absolute()) {
            Some(folder) => Ok(Place::Folder(folder)),
            None => refuse(
                "storage.blobs is empty, an absolute folder, file:///folder or s3://bucket/prefix",
            ),
        }
    }
}

impl Bucket {
    /// Reads what follows `s3://`.
    fn parse(text: &str, config: &StorageConfig) -> Result<Self, StorageError> {
        let (name, prefix) = text.split_once('/').unwrap_or((text, ""));
        if !is_bucket_name(name) {
            return refuse(
                "the bucket in storage.blobs has 3 to 63 lower-case letters, digits, dots and \
                 hyphens, and begins and ends with a letter or digit",
            );
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        if !prefix.is_empty() && !prefix.split('/').all(is_prefix_part) {
            return refuse(
                "the prefix in storage.blobs has letters, digits, dots, hyphens and underscores, \
                 parted by single slashes",
            );
        }
        let region = config.blobs_region.clone();
        let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if region.is_empty() || !region.bytes().all(letter) {
            return refuse("storage.blobs_region has lower-case letters, digits and hyphens");
        }
        let endpoint = match config.blobs_endpoint.as_str() {
            "" => None,
            text => Some(Endpoint::parse(text)?),
        };
        Ok(Self { name: name.to_owned(), prefix: ObjectPath::from(prefix), region, endpoint })
    }
}

/// For people: it holds no secret.
impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, prefix, endpoint, .. } = self;
        write!(f, "s3://{name}/{prefix}")?;
        match endpoint {
            Some(endpoint) => write!(f, " at {}", endpoint.url),
            None => Ok(()),
        }
    }
}

impl Endpoint {
    fn parse(text: &str) -> Result<Self, StorageError> {
        let Ok(url) = Url::parse(text) else {
            return refuse("storage.blobs_endpoint is an address such as https://s3.example.org");
        };
        if !url.username().is_empty() || url.password().is_some() {
            return refuse(
                "storage.blobs_endpoint holds no credentials: set AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY in the environment",
            );
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refuse("storage.blobs_endpoint has no query and no fragment");
        }
        let reach = match (url.scheme(), is_loopback(&url)) {
            ("https", false) => Reach::Network,
            ("https", true) => Reach::Loopback,
            ("http", true) => Reach::PlainLoopback,
            ("http", false) => {
                return refuse(
                    "storage.blobs_endpoint is https://… unless it is on this machine, because \
                     http:// sends content in the clear",
                );
            }
            (_, _) => return refuse("storage.blobs_endpoint is https://… or http://…"),
        };
        Ok(Self { url: url.as_str().trim_end_matches('/').to_owned(), reach })
    }
}

/// Judges the host as the HTTP client sees it, which reads the address with the same parser.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_bucket_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().last()];
    (3..=63).contains(&name.len())
        && name.bytes().all(|byte| plain(byte) || matches!(byte, b'.' | b'-'))
        && ends.into_iter().flatten().all(plain)
        && !name.contains("..")
}

fn is_prefix_part(part: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !matches!(part, "" | "." | "..") && part.bytes().all(letter)
}

fn refuse<T>(what: &str) -> Result<T, StorageError> {
    Err(StorageError::InvalidValue { what: what.into() })
}

#[cfg(test)]
mod tests;
