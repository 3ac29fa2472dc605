//! What is asked for, what may be done for it, and what came back.

use std::fmt;

use bytes::Bytes;
use palyra_common::time::Duration;

use crate::host::{Host, HostPattern};

/// A request as its caller wants it. It is checked when it is fetched.
#[derive(Clone)]
pub struct Request {
    /// What to do.
    pub method: Method,
    /// Where, as an absolute URL of http or https without credentials.
    pub url: String,
    /// What to say besides. Headers about the connection, `Host`, `Content-Length`,
    /// `Accept-Encoding` and `Cookie` are refused. When a redirect leads to another scheme, host or
    /// port, none of them goes along but `Content-Type` with the body that it describes.
    pub headers: Vec<(String, String)>,
    /// What to send; only with POST.
    pub body: Option<Bytes>,
    /// What it may do.
    pub grant: Grant,
}

/// URL, headers and body may hold secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, grant, .. } = self;
        f.debug_struct("Request")
            .field("method", method)
            .field("grant", grant)
            .finish_non_exhaustive()
    }
}

/// What tools may do with the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read.
    Get,
    /// Look without reading.
    Head,
    /// Send.
    Post,
}

/// What one request may do. The limits of the configuration hold as well; the tighter one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Where it may go, redirects included.
    pub hosts: Hosts,
    /// The largest body of an answer, as it is sent and as it is once unpacked.
    pub max_bytes: u64,
    /// How long all of it may take: waiting, looking up, redirects and the last byte.
    pub timeout: Duration,
}

/// Where a request may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// Wherever the configuration allows: public addresses, and what `net.allow` names.
    Any,
    /// Of those, these.
    Only(Vec<HostPattern>),
}

impl Hosts {
    pub(crate) fn names(&self, host: &Host) -> bool {
        match self {
            Self::Any => true,
            Self::Only(patterns) => patterns.iter().any(|pattern| pattern.matches(host)),
        }
    }
}

/// A whole answer. One that is larger than allowed is an error and never cut: half a document can
/// look like a whole one.
#[derive(Clone)]
pub struct Response {
    /// The status, whatever it is: also an error of the server is an answer.
    pub status: u16,
    /// The URL that answered, after redirects and without a fragment.
    pub final_url: String,
    /// The headers, with names in lower case; values that are not UTF-8 are made so. Those that
    /// spoke of the packed body are left out of an answer that was unpacked.
    pub headers: Vec<(String, String)>,
    /// The body, unpacked.
    pub body: Bytes,
}

impl Response {
    /// The first header of that name, in whatever case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// URL, headers and body may hold secrets.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}
