//! The names under which this daemon is reached.

use std::net::SocketAddr;

use crate::config::is_host;

/// The address we listen on, by number and as `localhost`, what the operator adds, and where people
/// find us.
pub(crate) fn ours(http: SocketAddr, added: &[String], public_url: &str) -> Vec<String> {
    let port = http.port();
    let mut hosts = vec![http.to_string()];
    for name in ["localhost", "127.0.0.1", "[::1]"] {
        hosts.push(format!("{name}:{port}"));
        if port == 80 {
            hosts.push(name.to_owned());
        }
    }
    hosts.extend(added.iter().cloned());
    hosts.extend(PublicUrl::parse(public_url).map(|url| url.host.to_owned()));
    hosts
}

/// Where people find us through a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PublicUrl<'a> {
    host: &'a str,
    tls: bool,
}

impl<'a> PublicUrl<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (host, tls) = match text.strip_prefix("https://") {
            Some(host) => (host, true),
            None => (text.strip_prefix("http://")?, false),
        };
        let host = host.strip_suffix('/').unwrap_or(host);
        is_host(host).then_some(Self { host, tls })
    }

    /// Whether a request for `host` came through TLS, as far as we can know.
    pub(crate) fn is_tls_for(self, host: &str) -> bool {
        self.tls && self.host.eq_ignore_ascii_case(host)
    }

    /// The beginning of every link.
    pub(crate) fn origin(self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.host)
    }
}

/// The beginning of every link that is given to people.
pub(crate) fn origin(http: SocketAddr, public_url: &str) -> String {
    let public = PublicUrl::parse(public_url).map(PublicUrl::origin);
    public.unwrap_or_else(|| format!("http://{http}"))
}

#[cfg(test)]
mod tests;
