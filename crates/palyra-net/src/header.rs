//! What a caller may say in headers, and how much may be said in return.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::error::NetError;

#[cfg(test)]
mod tests;

/// More headers than this are refused, of a request as of an answer.
pub(crate) const MAX_HEADERS: usize = 128;
/// The headers of a request in bytes.
const MAX_REQUEST_HEADERS: usize = 16 << 10;

/// About this connection, about the message as it is sent, or about a login that nobody granted:
/// the client says these itself, or nobody does.
const OURS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "cookie",
    "cookie2",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Reads the headers of a request. An error names the header and not its value.
pub(crate) fn checked(headers: &[(String, String)]) -> Result<HeaderMap, NetError> {
    let mut map = HeaderMap::new();
    let mut bytes = 0;
    for (name, value) in headers {
        bytes += name.len() + value.len();
        if map.len() >= MAX_HEADERS || bytes > MAX_REQUEST_HEADERS {
            return refuse(format!(
                "a request has at most {MAX_HEADERS} headers of {MAX_REQUEST_HEADERS} bytes in all"
            ));
        }
        let Ok(name) = HeaderName::try_from(name) else {
            return refuse("a header has a name that HTTP does not allow".into());
        };
        if is_ours(name.as_str()) {
            return refuse(format!("the header {name} is not for callers to set"));
        }
        let Ok(mut value) = HeaderValue::try_from(value) else {
            return refuse(format!("the header {name} has a value that HTTP does not allow"));
        };
        value.set_sensitive(true);
        map.append(name, value);
    }
    Ok(map)
}

fn is_ours(name: &str) -> bool {
    OURS.contains(&name) || name.starts_with("proxy-")
}

fn refuse<T>(what: String) -> Result<T, NetError> {
    Err(NetError::Request { what })
}

/// How many bytes the headers of an answer were, about.
pub(crate) fn size(headers: &HeaderMap) -> u64 {
    // ": " and the end of the line.
    const AROUND: usize = 4;
    let bytes = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + AROUND);
    u64::try_from(bytes.sum::<usize>()).unwrap_or(u64::MAX)
}
