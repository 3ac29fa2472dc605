//! The connection to a provider: straight to its address, within limits.

use std::error::Error;
use std::time::Duration;

use reqwest::{Client, Url, redirect};

use crate::config::{ModelProviderConfig, is_loopback};
use crate::error::Problem;

/// How long a connection is kept for the next call.
const KEPT: Duration = Duration::from_secs(60);
const CAUSE_CHARS: usize = 200;

pub(super) fn client(config: &ModelProviderConfig, base: &Url) -> reqwest::Result<Client> {
    // The client asks for the provider of the process and panics without one. Whoever has chosen
    // before us has chosen.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent("palyra")
        .connect_timeout(config.connect_timeout.into())
        .read_timeout(config.idle_timeout.into())
        .timeout(config.timeout.into())
        .pool_idle_timeout(KEPT)
        // A redirect or a proxy would carry the key and the conversation to wherever it points.
        .redirect(redirect::Policy::none())
        .no_proxy();
    match base.scheme() {
        // Works also where no root certificates are installed.
        "http" if is_loopback(base) => builder.tls_certs_only([]),
        _ => builder,
    }
    .build()
}

/// What a failure of the network means.
pub(super) fn problem(error: &reqwest::Error) -> Problem {
    if error.is_connect() {
        Problem::Unreachable { what: root_cause(error) }
    } else if error.is_timeout() {
        Problem::TimedOut
    } else {
        Problem::CutOff
    }
}

/// The innermost reason, which names no address.
pub(super) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string().chars().take(CAUSE_CHARS).collect()
}
