//! Blobs in S3, or in a service that speaks its language.

mod credentials;
mod http;

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use self::http::Connector;
pub use credentials::S3Credentials;

use super::BlobError;
use super::place::{Bucket, Reach};

/// How long a request that fails is tried again; the last try may begin just before its end.
const RETRY_FOR: Duration = Duration::from_secs(10);
const MAX_RETRIES: usize = 6;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The bucket as an object store. Nothing is sent yet: a service that is away now may be back
/// when it is needed.
pub(super) fn open(
    bucket: Bucket,
    credentials: S3Credentials,
) -> Result<Arc<dyn ObjectStore>, BlobError> {
    let reach = bucket.endpoint.as_ref().map_or(Reach::Network, |endpoint| endpoint.reach);
    let builder = AmazonS3Builder::new()
        .with_bucket_name(bucket.name)
        .with_region(bucket.region)
        .with_credentials(credentials.into_provider())
        .with_http_connector(Connector::new(reach))
        .with_retry(RetryConfig {
            backoff: BackoffConfig {
                init_backoff: FIRST_WAIT,
                max_backoff: LONGEST_WAIT,
                base: 2.0,
            },
            max_retries: MAX_RETRIES,
            retry_timeout: RETRY_FOR,
        })
        // Not every service has the request that deletes many, and we delete one by one.
        .with_disable_bulk_delete(true);
    let builder = match bucket.endpoint {
        Some(endpoint) => builder.with_endpoint(endpoint.url),
        None => builder,
    };
    let whole = builder.build()?;
    Ok(match bucket.prefix.as_ref() {
        "" => Arc::new(whole),
        _ => Arc::new(PrefixStore::new(whole, bucket.prefix)),
    })
}
