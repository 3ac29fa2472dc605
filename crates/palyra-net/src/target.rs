//! Where a request goes: a URL, read once, that has nothing in it but what is meant to be there.

use url::{Position, Url};

use crate::error::{Flaw, NetError};
use crate::host::Host;

#[cfg(test)]
mod tests;

/// Longer ones are refused by servers, too.
const MAX_URL: usize = 8 << 10;

/// A URL of http or https without credentials and without a fragment.
#[derive(Clone)]
pub(crate) struct Target {
    url: Url,
    host: Host,
    port: u16,
}

/// The two that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Target {
    /// Reads a URL. What is refused is not repeated: it may hold a secret.
    pub(crate) fn parse(text: &str) -> Result<Self, NetError> {
        check_text(text)?;
        Self::of(Url::parse(text).map_err(|_| flawed(Flaw::Unreadable))?)
    }

    /// Reads where a redirect leads, which may be relative to this.
    pub(crate) fn follow(&self, location: &str) -> Result<Self, NetError> {
        check_text(location)?;
        Self::of(self.url.join(location).map_err(|_| flawed(Flaw::Unreadable))?)
    }

    fn of(mut url: Url) -> Result<Self, NetError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(flawed(Flaw::Scheme));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(flawed(Flaw::Credentials));
        }
        let host = url.host().as_ref().and_then(Host::of).ok_or_else(|| flawed(Flaw::Host))?;
        // A name with a final dot is the same one, also for certificates.
        if let Host::Name(name) = &host {
            url.set_host(Some(name)).map_err(|_| flawed(Flaw::Host))?;
        }
        let port = url.port_or_known_default().ok_or_else(|| flawed(Flaw::Unreadable))?;
        url.set_fragment(None);
        Ok(Self { url, host, port })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn scheme(&self) -> Scheme {
        if self.url.scheme() == "https" { Scheme::Https } else { Scheme::Http }
    }

    /// Host and port, which is all that errors say.
    pub(crate) fn at(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Whether scheme, host and port are the same.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        self.url[..Position::BeforePath] == other.url[..Position::BeforePath]
    }
}

/// Parsers of URLs disagree about these, and somebody may have looked at the text before: what they
/// saw is to be what is fetched.
fn check_text(text: &str) -> Result<(), NetError> {
    if text.len() > MAX_URL {
        return Err(flawed(Flaw::TooLong));
    }
    if text.chars().any(|letter| letter.is_control() || letter == '\\') {
        return Err(flawed(Flaw::Unreadable));
    }
    Ok(())
}

fn flawed(flaw: Flaw) -> NetError {
    NetError::Url { flaw }
}
