//! How names become addresses.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// Addresses that are being looked up.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// The port through which names are looked up. The guard asks once for every request that it makes,
/// judges all of the answer and keeps none of it. A future that is dropped is of no more interest.
pub trait Resolve: Send + Sync {
    /// All addresses of `host`, a name in lower case and punycode without a final dot.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// Asks the system, with its hosts file and its search list.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
