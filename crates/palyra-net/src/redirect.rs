//! What follows from a redirect.

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName};

use crate::error::{NetError, RedirectFlaw};
use crate::request::Method;
use crate::target::{Scheme, Target};

#[cfg(test)]
mod tests;

/// One request on the way to an answer.
pub(crate) struct Hop {
    pub(crate) target: Target,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

/// The redirects that are followed. Others are answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// 301 and 302, which turn a POST into a GET because they always have.
    Moved,
    /// 303: what is there is the answer to read.
    SeeOther,
    /// 307 and 308: the same request, elsewhere.
    Same,
}

impl Status {
    pub(crate) fn of(status: u16) -> Option<Self> {
        match status {
            301 | 302 => Some(Self::Moved),
            303 => Some(Self::SeeOther),
            307 | 308 => Some(Self::Same),
            _ => None,
        }
    }
}

/// The headers that describe a body.
const ABOUT_A_BODY: &[&str] =
    &["content-type", "content-encoding", "content-language", "content-location"];

/// The next request. Where it leads is judged by whoever makes it, like any other.
pub(crate) fn next(hop: Hop, status: Status, location: &[u8]) -> Result<Hop, NetError> {
    let at = hop.target.at();
    let flawed = |flaw| NetError::Redirect { at: at.clone(), flaw };
    // Bytes beyond ASCII are not allowed there, and servers send them as UTF-8.
    let location = String::from_utf8_lossy(location);
    let target = match hop.target.follow(location.trim()) {
        Ok(target) => target,
        Err(NetError::Url { flaw }) => return Err(flawed(RedirectFlaw::Url(flaw))),
        Err(other) => return Err(other),
    };
    if hop.target.scheme() == Scheme::Https && target.scheme() == Scheme::Http {
        return Err(flawed(RedirectFlaw::Downgrade));
    }
    let (method, keeps_body) = match (status, hop.method) {
        (Status::Same, method) => (method, true),
        (Status::Moved | Status::SeeOther, Method::Post) => (Method::Get, false),
        (Status::Moved | Status::SeeOther, method) => (method, true),
    };
    let mut headers = hop.headers;
    if !hop.target.is_same_origin(&target) {
        let about_the_body = headers.remove(CONTENT_TYPE);
        headers.clear();
        headers.extend(about_the_body.map(|value| (CONTENT_TYPE, value)));
    }
    if !keeps_body {
        for name in ABOUT_A_BODY {
            headers.remove(HeaderName::from_static(name));
        }
    }
    Ok(Hop { target, method, headers, body: hop.body.filter(|_| keeps_body) })
}
