//! What the server holds, and how it answers.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::S3Server;
use super::connection::Request;

/// Far more than a test asks.
const MAX_REQUESTS: usize = 100_000;

/// What happens to a request instead of an answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 500, and nothing is done.
    InternalError,
    /// 503, and nothing is done.
    SlowDown,
    /// 403, and nothing is done.
    Forbidden,
    /// 400 as for a session token that has expired, and nothing is done.
    ExpiredToken,
    /// 404 as for a bucket that is not there, and nothing is done.
    NoSuchBucket,
    /// 307 to `/elsewhere`, and nothing is done.
    Redirect,
    /// It is done, and then the connection is closed without an answer.
    DropAfterWork,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

pub(super) enum Reply {
    Answer(Answer),
    /// Close the connection.
    Cut,
}

#[derive(Debug, Default)]
pub(super) struct Store {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    faults: Mutex<VecDeque<Fault>>,
    requests: Mutex<Vec<String>>,
}

impl Store {
    pub(super) fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        lock(&self.objects)
    }

    pub(super) fn requests(&self) -> MutexGuard<'_, Vec<String>> {
        lock(&self.requests)
    }

    pub(super) fn fail_next(&self, count: usize, fault: Fault) {
        lock(&self.faults).extend(std::iter::repeat_n(fault, count));
    }

    pub(super) fn answer(&self, request: &Request) -> Reply {
        let mut requests = self.requests();
        if requests.len() >= MAX_REQUESTS {
            return Reply::Cut;
        }
        requests.push(format!("{} {}", request.method, request.target));
        drop(requests);
        let fault = lock(&self.faults).pop_front();
        Reply::Answer(match fault {
            None => self.work(request),
            Some(Fault::InternalError) => refusal(500, "InternalError", request),
            Some(Fault::SlowDown) => refusal(503, "SlowDown", request),
            Some(Fault::Forbidden) => refusal(403, "SignatureDoesNotMatch", request),
            Some(Fault::ExpiredToken) => refusal(400, "ExpiredToken", request),
            Some(Fault::NoSuchBucket) => refusal(404, "NoSuchBucket", request),
            Some(Fault::Redirect) => {
                let mut answer = refusal(307, "TemporaryRedirect", request);
                let host = request.header("host").unwrap_or_default();
                answer.headers.push(("location", format!("http://{host}/elsewhere")));
                answer
            }
            Some(Fault::DropAfterWork) => {
                self.work(request);
                return Reply::Cut;
            }
        })
    }

    fn work(&self, request: &Request) -> Answer {
        let ours = format!("Credential={}/", S3Server::KEY_ID);
        if !request.header("authorization").is_some_and(|value| value.contains(&ours)) {
            return refusal(403, "InvalidAccessKeyId", request);
        }
        let inside = request.target.strip_prefix('/').and_then(|path| path.split_once('/'));
        let key = match inside {
            Some((bucket, key)) if bucket == S3Server::BUCKET => key,
            Some(_) | None => return refusal(404, "NoSuchBucket", request),
        };
        match request.method.as_str() {
            "PUT" => {
                let headers = vec![("etag", etag(&request.body))];
                self.objects().insert(key.to_owned(), request.body.clone());
                Answer { status: 200, headers, body: Vec::new() }
            }
            "DELETE" => {
                self.objects().remove(key);
                Answer { status: 204, headers: Vec::new(), body: Vec::new() }
            }
            "GET" | "HEAD" => match self.objects().get(key) {
                Some(content) => part(content, request),
                None => refusal(404, "NoSuchKey", request),
            },
            _ => refusal(405, "MethodNotAllowed", request),
        }
    }
}

/// The content, or the range of it that was asked for.
fn part(content: &[u8], request: &Request) -> Answer {
    let mut headers = vec![
        ("etag", etag(content)),
        ("last-modified", "Wed, 01 Jan 2025 00:00:00 GMT".to_owned()),
        ("accept-ranges", "bytes".to_owned()),
    ];
    let Some(range) = request.header("range") else {
        return Answer { status: 200, headers, body: content.to_vec() };
    };
    let Some((first, last)) = bounds(range, content.len()) else {
        return refusal(416, "InvalidRange", request);
    };
    headers.push(("content-range", format!("bytes {first}-{last}/{}", content.len())));
    Answer { status: 206, headers, body: content[first..=last].to_vec() }
}

/// The first and the last byte of `bytes=2-4`, `bytes=2-` or `bytes=-3`.
fn bounds(range: &str, size: usize) -> Option<(usize, usize)> {
    let end = size.checked_sub(1)?;
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = match (first, last) {
        ("", count) => (size.saturating_sub(count.parse().ok()?), end),
        (first, "") => (first.parse().ok()?, end),
        (first, last) => (first.parse().ok()?, end.min(last.parse().ok()?)),
    };
    (first <= last).then_some((first, last))
}

/// An error as S3 tells it, which repeats the request that it is about.
fn refusal(status: u16, code: &str, request: &Request) -> Answer {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><CanonicalRequest>{} {}\n{}\
         </CanonicalRequest><Code>{code}</Code><Message>as asked</Message></Error>",
        request.method,
        request.target,
        request.headers(),
    );
    Answer { status, headers: vec![("content-type", "application/xml".into())], body: body.into() }
}

fn etag(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::bounds;

    #[test]
    fn ranges_are_cut_to_what_there_is() {
        for (range, expected) in [
            ("bytes=2-4", Some((2, 4))),
            ("bytes=8-99", Some((8, 9))),
            ("bytes=2-", Some((2, 9))),
            ("bytes=-3", Some((7, 9))),
            ("bytes=-99", Some((0, 9))),
            ("bytes=10-", None),
            ("bytes=4-2", None),
            ("lines=1-2", None),
        ] {
            assert_eq!(bounds(range, 10), expected, "{range}");
        }
        assert_eq!(bounds("bytes=0-0", 0), None);
    }
}
