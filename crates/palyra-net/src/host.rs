//! Hosts as they are compared: names in lower case and punycode without a final dot, addresses as
//! numbers.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

#[cfg(test)]
mod tests;

/// What DNS allows.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// The host of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    Name(String),
    /// Never a mapped one: those are IPv4.
    Address(IpAddr),
}

impl Host {
    /// Takes what the parser of URLs has read; `None` for names that no DNS knows.
    pub(crate) fn of<S: AsRef<str>>(host: &url::Host<S>) -> Option<Self> {
        match host {
            url::Host::Domain(name) => {
                let name = name.as_ref();
                let name = name.strip_suffix('.').unwrap_or(name);
                is_name(name).then(|| Self::Name(name.to_owned()))
            }
            url::Host::Ipv4(address) => Some(Self::Address((*address).into())),
            url::Host::Ipv6(address) => Some(Self::Address(address.to_canonical())),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text.parse::<IpAddr>() {
            Ok(address) => Some(Self::Address(address.to_canonical())),
            Err(_) => Self::of(&url::Host::parse(text).ok()?),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// URLs allow more, such as `*` and `$`; no DNS has names with those.
fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label =
        |label: &str| (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(letter);
    name.len() <= MAX_NAME && name.split('.').all(is_label)
}

/// A host, or all names below one: `example.org`, `*.example.org`, `192.0.2.1`, `2001:db8::1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern(Pattern);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Exactly(Host),
    /// Not the name itself: whoever means it names it.
    Below(String),
}

/// Why a text is not a [`HostPattern`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a host is a name such as example.org or *.example.org, or an address, without a port")]
pub struct HostPatternError;

impl HostPattern {
    pub(crate) fn matches(&self, host: &Host) -> bool {
        match (&self.0, host) {
            (Pattern::Exactly(named), host) => named == host,
            (Pattern::Below(above), Host::Name(name)) => {
                let below = name.strip_suffix(above.as_str());
                below.is_some_and(|below| below.ends_with('.'))
            }
            (Pattern::Below(_), Host::Address(_)) => false,
        }
    }

    /// The address, if it is one.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match &self.0 {
            Pattern::Exactly(Host::Address(address)) => Some(*address),
            Pattern::Exactly(Host::Name(_)) | Pattern::Below(_) => None,
        }
    }
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let pattern = match text.strip_prefix("*.") {
            Some(above) => match Host::parse(above) {
                Some(Host::Name(name)) => Some(Pattern::Below(name)),
                Some(Host::Address(_)) | None => None,
            },
            None => Host::parse(text).map(Pattern::Exactly),
        };
        pattern.map(Self).ok_or(HostPatternError)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Pattern::Exactly(host) => host.fmt(f),
            Pattern::Below(name) => write!(f, "*.{name}"),
        }
    }
}
