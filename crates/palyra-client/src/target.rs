//! To whom a client speaks.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use palyra_common::ErrorCode;
use palyra_common::data_dir::SOCKET;
use reqwest::Url;
use reqwest::header::HeaderValue;
use thiserror::Error;

/// The longest token that is looked at.
const TOKEN_CHARS: usize = 512;

/// A daemon, as seen from here.
#[derive(Debug, Clone)]
pub enum Target {
    /// The one that runs on this data directory, over its Unix socket.
    Local {
        /// The data directory.
        data_dir: PathBuf,
    },
    /// One at an address.
    Remote {
        /// Where.
        host: Host,
        /// As whom; without it only health can be asked.
        token: Option<ApiToken>,
    },
}

impl Target {
    /// The socket of a local daemon.
    pub fn socket(&self) -> Option<PathBuf> {
        match self {
            Self::Local { data_dir } => Some(data_dir.join(SOCKET)),
            Self::Remote { .. } => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local { data_dir } => write!(f, "the daemon on {}", data_dir.display()),
            Self::Remote { host, .. } => write!(f, "the daemon at {host}"),
        }
    }
}

/// The address of a daemon: `https://…`, or `http://…` on this machine.
///
/// A token sent over plain HTTP to another machine could be read on the way, so that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(Url);

impl Host {
    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    /// Whether nothing leaves this machine unencrypted, because it does not leave at all.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }
}

/// Why a text is not a [`Host`] or an [`ApiToken`]. The text itself is left out: it may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TargetError {
    /// Not an address.
    #[error("a host is an address such as http://127.0.0.1:7142 or https://palyra.example")]
    Host,
    /// There is more than scheme, host and port.
    #[error("a host has a scheme, a name and a port, but no user, path, query or fragment")]
    HostHasMore,
    /// Plain HTTP to another machine.
    #[error("a host on another machine is reached by https only, so that the token stays secret")]
    HostIsPlain,
    /// Not a token.
    #[error("an API token begins with ply_ and is one word")]
    Token,
}

impl TargetError {
    /// The stable code.
    pub fn code(self) -> ErrorCode {
        ErrorCode::CommonInvalidInput
    }
}

impl FromStr for Host {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).map_err(|_| TargetError::Host)?;
        let Some(name) = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")) else {
            return Err(TargetError::Host);
        };
        let has_login = !url.username().is_empty() || url.password().is_some();
        if has_login || url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(TargetError::HostHasMore);
        }
        if url.scheme() == "http" && !is_loopback(name) {
            return Err(TargetError::HostIsPlain);
        }
        Ok(Self(url))
    }
}

fn is_loopback(name: &str) -> bool {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

/// An API token. It prints nothing of itself.
#[derive(Clone)]
pub struct ApiToken(HeaderValue);

impl ApiToken {
    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

/// Ignores white space around it, which files and pipes bring along.
impl FromStr for ApiToken {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let is_word = text.bytes().all(|byte| byte.is_ascii_graphic());
        if !text.starts_with("ply_") || !is_word || text.len() > TOKEN_CHARS {
            return Err(TargetError::Token);
        }
        let header = HeaderValue::try_from(format!("Bearer {text}"));
        let mut header = header.map_err(|_| TargetError::Token)?;
        header.set_sensitive(true);
        Ok(Self(header))
    }
}

impl fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiToken(…)")
    }
}
