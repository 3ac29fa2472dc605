//! Why a request was not made, or why there is no answer. No message holds more of a URL than host
//! and port, or a value of a header: either may be a secret.

use std::fmt;

use palyra_common::error::{ErrorCode, StableErrorEnvelope};
use palyra_common::runtime_contracts::RetryClass;
use palyra_common::time::Duration;

use crate::address::AddressKind;
use crate::request::Method;

#[cfg(test)]
mod tests;

/// A request that was refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// The configuration has a value that cannot work.
    #[error("{what}")]
    Config {
        /// What is wrong.
        what: String,
    },
    /// There is no client to make requests with.
    #[error("no request can be made: {what}")]
    NoClient {
        /// What the client said when it was made.
        what: String,
    },
    /// The URL is not one to be fetched.
    #[error("the URL {flaw}")]
    Url {
        /// What is wrong with it.
        flaw: Flaw,
    },
    /// A header or the body is not one that a caller may send.
    #[error("{what}")]
    Request {
        /// What is wrong.
        what: String,
    },
    /// The port is one of another protocol.
    #[error("{at} is a port that does not speak HTTP")]
    PortRefused {
        /// Host and port.
        at: String,
    },
    /// The grant does not name the host.
    #[error("{at} is not among the hosts that this request may go to")]
    HostNotGranted {
        /// Host and port.
        at: String,
    },
    /// The host is, or has among its addresses, one that is not public.
    #[error("{host} is at {kind}, and those are not reached")]
    AddressRefused {
        /// The host.
        host: String,
        /// Why the address is refused.
        kind: AddressKind,
    },
    /// The name has no address.
    #[error("{host} has no address: {what}")]
    NoAddress {
        /// The host.
        host: String,
        /// What the resolver said.
        what: String,
    },
    /// No connection, so nothing was sent.
    #[error("{at} could not be reached: {what}")]
    Unreachable {
        /// Host and port.
        at: String,
        /// What the network said.
        what: String,
    },
    /// The other side could not prove who it is, so nothing was sent.
    #[error("{at} could not prove that it is what it is called: {what}")]
    Tls {
        /// Host and port.
        at: String,
        /// What is wrong with its certificate or its TLS.
        what: String,
    },
    /// As many requests as may be were under way for as long as this one was allowed to take.
    #[error("{at} was not asked: {limit} other requests were under way all the time")]
    Busy {
        /// Host and port.
        at: String,
        /// How many there may be.
        limit: u32,
    },
    /// The whole took too long.
    #[error("{at} did not answer within {limit}")]
    Timeout {
        /// Host and port.
        at: String,
        /// How long it may take, redirects included.
        limit: Duration,
    },
    /// The connection ended before the answer did.
    #[error("{at} broke off its answer: {what}")]
    BrokeOff {
        /// Host and port.
        at: String,
        /// What the network said.
        what: String,
    },
    /// The answer is larger than allowed, as it came or once it was unpacked.
    #[error("{at} answered with {what}")]
    TooLarge {
        /// Host and port.
        at: String,
        /// What there was too much of, and the limit.
        what: String,
    },
    /// The answer cannot be understood.
    #[error("{at} gave an answer that cannot be read: {what}")]
    BadAnswer {
        /// Host and port.
        at: String,
        /// Why not.
        what: String,
    },
    /// A redirect that is not followed.
    #[error("{at} {flaw}")]
    Redirect {
        /// Host and port of whoever redirected.
        at: String,
        /// Why it is not followed.
        flaw: RedirectFlaw,
    },
    /// It went wrong after a redirect.
    #[error("{from} redirected the request, and then: {error}")]
    AfterRedirect {
        /// Host and port of whoever redirected last.
        from: String,
        /// What went wrong.
        error: Box<NetError>,
    },
    /// A POST got no answer after it was sent. Sending it again could do what it asks for twice.
    #[error("{error}; whether the request was acted on is not known")]
    Unknown {
        /// What went wrong.
        error: Box<NetError>,
    },
}

/// What is wrong with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It is no URL, or one that programs read in different ways.
    Unreadable,
    /// It is longer than 8 KiB.
    TooLong,
    /// It is not of http or https.
    Scheme,
    /// A user name or a password is in it.
    Credentials,
    /// Its host is none.
    Host,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable => "cannot be read",
            Self::TooLong => "is longer than 8192 bytes",
            Self::Scheme => "is not of http or https",
            Self::Credentials => "holds a user name or a password; send them as a header",
            Self::Host => "has no host, or one that cannot exist",
        })
    }
}

/// Why a redirect is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectFlaw {
    /// There were as many as may be.
    TooMany {
        /// How many that is.
        limit: u32,
    },
    /// It leads from https to http.
    Downgrade,
    /// Where it leads is not a URL to be fetched.
    Url(Flaw),
}

impl fmt::Display for RedirectFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { limit } => write!(f, "redirected once more than the {limit} allowed"),
            Self::Downgrade => f.write_str("redirected from https to http"),
            Self::Url(flaw) => write!(f, "redirected to a URL that {flaw}"),
        }
    }
}

impl NetError {
    /// The stable code that a user sees.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Config { .. } => ErrorCode::ConfigInvalid,
            Self::NoClient { .. } => ErrorCode::NetNoClient,
            Self::Url { .. } => ErrorCode::NetUrlRefused,
            Self::Request { .. } => ErrorCode::NetRequestRefused,
            Self::PortRefused { .. } => ErrorCode::NetPortRefused,
            Self::HostNotGranted { .. } => ErrorCode::NetHostNotGranted,
            Self::AddressRefused { .. } => ErrorCode::NetAddressRefused,
            Self::NoAddress { .. } => ErrorCode::NetNoAddress,
            Self::Unreachable { .. } => ErrorCode::NetUnreachable,
            Self::Tls { .. } => ErrorCode::NetTls,
            Self::Busy { .. } => ErrorCode::NetBusy,
            Self::Timeout { .. } => ErrorCode::NetTimeout,
            Self::BrokeOff { .. } => ErrorCode::NetBrokeOff,
            Self::TooLarge { .. } => ErrorCode::NetTooLarge,
            Self::BadAnswer { .. } => ErrorCode::NetBadAnswer,
            Self::Redirect { .. } => ErrorCode::NetRedirectRefused,
            Self::AfterRedirect { error, .. } => error.code(),
            Self::Unknown { .. } => ErrorCode::NetOutcomeUnknown,
        }
    }

    /// Whether the same request can be made again and succeed then. A POST that may have been acted
    /// on cannot: that is [`NetError::Unknown`].
    pub fn retry_class(&self) -> RetryClass {
        if self.code().retryable() { RetryClass::TransientNetwork } else { RetryClass::Permanent }
    }

    /// Whether the request may have reached somebody, so that what it asks for may have been done.
    pub fn was_sent(&self) -> bool {
        match self {
            Self::Config { .. }
            | Self::NoClient { .. }
            | Self::Url { .. }
            | Self::Request { .. }
            | Self::PortRefused { .. }
            | Self::HostNotGranted { .. }
            | Self::AddressRefused { .. }
            | Self::NoAddress { .. }
            | Self::Unreachable { .. }
            | Self::Tls { .. }
            | Self::Busy { .. } => false,
            // Where the time went is not known: it may have been spent on connecting.
            Self::Timeout { .. }
            | Self::BrokeOff { .. }
            | Self::TooLarge { .. }
            | Self::BadAnswer { .. }
            | Self::Redirect { .. }
            | Self::AfterRedirect { .. }
            | Self::Unknown { .. } => true,
        }
    }

    /// The error as it is of a request by `method`.
    pub(crate) fn of(self, method: Method) -> Self {
        match method {
            Method::Post if self.was_sent() && self.code().retryable() => {
                Self::Unknown { error: Box::new(self) }
            }
            Method::Get | Method::Head | Method::Post => self,
        }
    }

    /// The error as users of every surface see it.
    pub fn envelope(&self) -> StableErrorEnvelope {
        StableErrorEnvelope::new(self.code(), self.to_string())
    }
}
