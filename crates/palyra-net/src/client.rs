//! The HTTP client, made once and without anything ambient.

use std::sync::Arc;

use reqwest::{Certificate, Client, Proxy, redirect, retry};

use crate::config::NetConfig;
use crate::door::{Door, Lookup};
use crate::error::NetError;
use crate::header::MAX_HEADERS;

const USER_AGENT: &str = concat!("palyra/", env!("CARGO_PKG_VERSION"));

/// Makes the client. It fails where no root certificates are installed.
pub(crate) fn build(
    config: &NetConfig,
    roots: Vec<Certificate>,
    door: &Arc<Door>,
) -> reqwest::Result<Client> {
    // The client asks for the provider of the process and panics without one. Whoever has chosen
    // before us has chosen.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .dns_resolver(Arc::new(Lookup(Arc::clone(door))))
        .connect_timeout(config.connect_timeout.into())
        .http1_only()
        .http1_max_headers(MAX_HEADERS)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        // A connection that is used again is not looked up again, and some servers take whoever
        // logged in on it for whoever asks next.
        .pool_max_idle_per_host(0)
        // Unpacked by hand, where the limit is.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        // Proxies of the environment are for the owner's programs and not for strangers' wishes.
        .no_proxy()
        .tls_certs_merge(roots);
    match &door.proxy {
        Some(through) => builder.proxy(Proxy::all(&through.url)?),
        None => builder,
    }
    .build()
}

/// Reads the certificates of `net.ca_file`.
pub(crate) fn roots(config: &NetConfig) -> Result<Vec<Certificate>, NetError> {
    let path = &config.ca_file;
    if path.as_os_str().is_empty() {
        return Ok(Vec::new());
    }
    let refuse = |what: String| NetError::Config { what };
    let unread = |error: std::io::Error| {
        refuse(format!("net.ca_file {} cannot be read: {error}", path.display()))
    };
    let pem = std::fs::read(path).map_err(unread)?;
    match Certificate::from_pem_bundle(&pem) {
        Ok(roots) if !roots.is_empty() => Ok(roots),
        Ok(_) | Err(_) => {
            Err(refuse(format!("net.ca_file {} holds no certificate in PEM", path.display())))
        }
    }
}
