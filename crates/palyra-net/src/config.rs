//! What an operator can choose about the way out: section `[net]` of `palyra.toml`.

use std::path::PathBuf;
use std::sync::Arc;

use palyra_common::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::allow::Allow;
use crate::door::{Door, Through};
use crate::error::NetError;
use crate::host::Host;
use crate::resolve::Resolve;

#[cfg(test)]
mod tests;

/// Section `[net]`. The comments on its options are what users read in the example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetConfig {
    /// What tools, skills and replies to webhooks may reach although it is not public: names such as
    /// nas.home.arpa or *.corp.example.org, addresses, and networks such as 10.1.2.0/24. A name opens
    /// that host on this
    /// machine or in a private network, whatever its address there is. Other addresses that are not
    /// public, such as those where clouds hand out credentials, are opened only by address. Whoever
    /// can make an agent fetch something can then reach it too.
    pub allow: Vec<String>,
    /// Ports to allow although they belong to other protocols, such as mail or DNS, and are refused
    /// for that reason by browsers too.
    pub allow_ports: Vec<u16>,
    /// A proxy that all of these requests go through, as `socks5://host:port` or
    /// `http://host:port`, without a login. Empty: none; proxies of the environment are never used.
    ///
    /// Hosts are looked up and checked here all the same, so names have to be known on this machine.
    /// A socks5 proxy is then asked for an address that was checked. An http proxy is asked for the
    /// name and looks it up again: a name that changes its address in between can lead it to what
    /// only the proxy can reach, so let the proxy refuse private addresses itself.
    pub proxy: String,
    /// A PEM file with certificates of authorities that are trusted besides those of the system, as
    /// an absolute path. Empty: none.
    pub ca_file: PathBuf,
    /// How long a connection may take, with the lookup of its name and TLS.
    #[schemars(with = "String")]
    pub connect_timeout: Duration,
    /// How long a request may take in all, with its redirects, whatever it was granted.
    #[schemars(with = "String")]
    pub max_time: Duration,
    /// How many redirects are followed.
    pub max_redirects: u32,
    /// The largest headers of an answer in bytes, from 1024 to 262144.
    pub max_header_bytes: u32,
    /// The largest body of an answer in bytes, as sent and as unpacked, whatever was granted.
    pub max_bytes: u64,
    /// The largest body of a request in bytes.
    pub max_request_bytes: u64,
    /// How many requests are made at once. Further ones wait, within the time they may take.
    pub max_at_once: u32,
}

impl Default for NetConfig {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            allow_ports: Vec::new(),
            proxy: String::new(),
            ca_file: PathBuf::new(),
            connect_timeout: Duration::from_secs(10),
            max_time: Duration::from_mins(5),
            max_redirects: 5,
            max_header_bytes: 64 << 10,
            max_bytes: 64 << 20,
            max_request_bytes: 8 << 20,
            max_at_once: 32,
        }
    }
}

impl NetConfig {
    /// Refuses values that cannot work. Reads no file.
    pub fn check(&self) -> Result<(), NetError> {
        self.allowed()?;
        self.through()?;
        if self.allow_ports.contains(&0) {
            return refuse("net.allow_ports are from 1 to 65535");
        }
        if !self.ca_file.as_os_str().is_empty() && self.ca_file.is_relative() {
            return refuse("net.ca_file is an absolute path");
        }
        if self.connect_timeout == Duration::ZERO {
            return refuse("net.connect_timeout is more than 0s");
        }
        if !(Duration::from_millis(1)..=Duration::from_days(1)).contains(&self.max_time) {
            return refuse("net.max_time is more than 0s and at most 1d");
        }
        if self.max_redirects > 20 {
            return refuse("net.max_redirects is at most 20");
        }
        if !(1 << 10..=256 << 10).contains(&self.max_header_bytes) {
            return refuse("net.max_header_bytes is from 1024 to 262144");
        }
        if !(1..=4 << 30).contains(&self.max_bytes) {
            return refuse("net.max_bytes is from 1 to 4294967296");
        }
        if !(1..=1024).contains(&self.max_at_once) {
            return refuse("net.max_at_once is from 1 to 1024");
        }
        Ok(())
    }

    /// Checks the section and makes of it what decides.
    pub(crate) fn door(&self, resolver: Arc<dyn Resolve>) -> Result<Door, NetError> {
        self.check()?;
        Ok(Door {
            allow: self.allowed()?,
            allow_ports: self.allow_ports.iter().copied().collect(),
            proxy: self.through()?,
            resolver,
        })
    }

    fn allowed(&self) -> Result<Allow, NetError> {
        Allow::parse(&self.allow).or_else(|entry| {
            refuse(&format!(
                "net.allow has the entry {entry:?}, which is no host such as nas.home.arpa or \
                 *.example.org, no address and no network such as 10.1.2.0/24"
            ))
        })
    }

    /// The proxy is not repeated when it is refused: there may be a password in it.
    fn through(&self) -> Result<Option<Through>, NetError> {
        if self.proxy.is_empty() {
            return Ok(None);
        }
        let unknown = || refuse("net.proxy is socks5://host:port or http://host:port");
        let Ok(url) = Url::parse(&self.proxy) else { return unknown() };
        let (scheme, Some(port)) = (url.scheme(), url.port_or_known_default()) else {
            return unknown();
        };
        if !matches!(scheme, "http" | "socks5") {
            return unknown();
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("net.proxy holds no user name and no password: it is not a secret");
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return unknown();
        }
        // Of a scheme that browsers do not know, the parser leaves the host as it is written.
        let text = url.host_str().unwrap_or_default();
        match url::Host::parse(text).ok().as_ref().and_then(Host::of) {
            Some(host) => Ok(Some(Through { url: format!("{scheme}://{host}:{port}"), host })),
            None => unknown(),
        }
    }
}

fn refuse<T>(what: &str) -> Result<T, NetError> {
    Err(NetError::Config { what: what.into() })
}
