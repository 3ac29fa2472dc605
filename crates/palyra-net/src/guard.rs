//! The guard itself: one request, its redirects, and their limits.

use std::sync::Arc;

use palyra_common::time::Duration;
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Client, Response as Answer};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::body::{self, Coding};
use crate::config::NetConfig;
use crate::door::Door;
use crate::error::{NetError, RedirectFlaw};
use crate::redirect::{self, Hop};
use crate::request::{Grant, Hosts, Method, Request, Response};
use crate::resolve::Resolve;
use crate::target::Target;
use crate::{client, failure, header};

/// The one way out for HTTP. Share it: its limits hold for all who use the same one.
pub struct Guard {
    config: NetConfig,
    door: Arc<Door>,
    /// Without root certificates there is none; everything else works without it.
    client: Result<Client, NetError>,
    room: Semaphore,
}

/// What a request may take, after grant and configuration have both been heard.
struct Limits {
    hosts: Hosts,
    max_bytes: u64,
    time: Duration,
    deadline: Instant,
}

/// What one hop came to.
enum Step {
    Done(Response),
    Redirect { status: redirect::Status, location: HeaderValue },
}

impl Guard {
    /// Makes the guard. It fails for a configuration that cannot work; that no request can be made
    /// on this machine is told by each of them.
    pub fn new(config: NetConfig, resolver: Arc<dyn Resolve>) -> Result<Self, NetError> {
        let door = Arc::new(config.door(resolver)?);
        let roots = client::roots(&config)?;
        let client = client::build(&config, roots, &door)
            .map_err(|error| NetError::NoClient { what: failure::root(&error) });
        let room = Semaphore::new(config.max_at_once as usize);
        Ok(Self { config, door, client, room })
    }

    /// Fetches what `request` asks for, within its grant.
    ///
    /// Dropping the future ends the connection; whether the other side has acted by then is not
    /// known. Nothing is tried twice: whoever wants that asks [`NetError::retry_class`].
    pub async fn fetch(&self, request: Request) -> Result<Response, NetError> {
        let limits = self.limits(&request.grant);
        let method = request.method;
        let first = self.first(request)?;
        let at = first.target.at();
        let Ok(Ok(_place)) = timeout_at(limits.deadline, self.room.acquire()).await else {
            return Err(NetError::Busy { at, limit: self.config.max_at_once });
        };
        self.follow(first, &limits).await.map_err(|error| error.of(method))
    }

    fn limits(&self, grant: &Grant) -> Limits {
        let time = grant.timeout.min(self.config.max_time);
        Limits {
            hosts: grant.hosts.clone(),
            max_bytes: grant.max_bytes.min(self.config.max_bytes),
            time,
            deadline: Instant::now() + time.into(),
        }
    }

    fn first(&self, request: Request) -> Result<Hop, NetError> {
        let Request { method, url, headers, body, grant: _ } = request;
        let refuse = |what: String| Err(NetError::Request { what });
        let limit = self.config.max_request_bytes;
        match (method, &body) {
            (Method::Get | Method::Head, Some(_)) => {
                return refuse("only a POST has a body".into());
            }
            (Method::Post, Some(body)) if body.len() as u64 > limit => {
                return refuse(format!("the body of a request has at most {limit} bytes"));
            }
            (Method::Get | Method::Head | Method::Post, _) => {}
        }
        let target = Target::parse(&url)?;
        Ok(Hop { target, method, headers: header::checked(&headers)?, body })
    }

    async fn follow(&self, first: Hop, limits: &Limits) -> Result<Response, NetError> {
        let mut hop = first;
        let mut redirected_by: Option<String> = None;
        let mut left = self.config.max_redirects;
        loop {
            let at = hop.target.at();
            let step = match timeout_at(limits.deadline, self.exchange(&hop, limits)).await {
                Ok(step) => step,
                Err(_) => Err(NetError::Timeout { at: at.clone(), limit: limits.time }),
            };
            let (status, location) = match (step, redirected_by.take()) {
                (Ok(Step::Done(response)), _) => return Ok(response),
                (Ok(Step::Redirect { status, location }), _) => (status, location),
                (Err(error), None) => return Err(error),
                (Err(error), Some(from)) => {
                    return Err(NetError::AfterRedirect { from, error: Box::new(error) });
                }
            };
            if left == 0 {
                let flaw = RedirectFlaw::TooMany { limit: self.config.max_redirects };
                return Err(NetError::Redirect { at, flaw });
            }
            left -= 1;
            hop = redirect::next(hop, status, location.as_bytes())?;
            redirected_by = Some(at);
        }
    }

    /// Judges one hop, makes its request and reads the answer.
    async fn exchange(&self, hop: &Hop, limits: &Limits) -> Result<Step, NetError> {
        self.door.admit(&hop.target, &limits.hosts)?;
        if self.door.proxy.is_some() {
            // The client looks up no more than the proxy then.
            self.door.addresses(hop.target.host()).await?;
        }
        let at = hop.target.at();
        let answer = self.send(hop, &at).await?;
        let limit = u64::from(self.config.max_header_bytes);
        if header::size(answer.headers()) > limit {
            let what = format!("headers of more than {limit} bytes");
            return Err(NetError::TooLarge { at, what });
        }
        let status = redirect::Status::of(answer.status().as_u16());
        if let (Some(status), Some(location)) = (status, answer.headers().get(LOCATION)) {
            return Ok(Step::Redirect { status, location: location.clone() });
        }
        let url = hop.target.url().as_str();
        taken_in(answer, url, limits.max_bytes, &at).await.map(Step::Done)
    }

    async fn send(&self, hop: &Hop, at: &str) -> Result<Answer, NetError> {
        let client = self.client.as_ref().map_err(Clone::clone)?;
        let method = match hop.method {
            Method::Get => reqwest::Method::GET,
            Method::Head => reqwest::Method::HEAD,
            Method::Post => reqwest::Method::POST,
        };
        let mut request = client
            .request(method, hop.target.url().clone())
            .headers(hop.headers.clone())
            .header(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        if let Some(body) = &hop.body {
            request = request.body(body.clone());
        }
        request.send().await.map_err(|error| failure::of_sending(&error, at))
    }
}

/// Reads the rest of an answer.
async fn taken_in(
    mut answer: Answer,
    url: &str,
    max_bytes: u64,
    at: &str,
) -> Result<Response, NetError> {
    let Some(coding) = Coding::of(&answer) else {
        let what = "it is packed in a way that was not asked for".into();
        return Err(NetError::BadAnswer { at: at.to_owned(), what });
    };
    let body = body::read(&mut answer, coding, max_bytes, at).await?;
    let speaks_of_packed = |name: &HeaderName| {
        coding == Coding::Gzip && (name == CONTENT_ENCODING || name == CONTENT_LENGTH)
    };
    let headers = answer.headers().iter().filter(|(name, _)| !speaks_of_packed(name));
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = headers.map(|(name, value)| (name.as_str().to_owned(), text(value)));
    Ok(Response {
        status: answer.status().as_u16(),
        final_url: url.to_owned(),
        headers: headers.collect(),
        body,
    })
}
