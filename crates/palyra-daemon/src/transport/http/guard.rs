//! What every request passes before it is looked at, and every answer on its way out.

use std::sync::LazyLock;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use palyra_common::ErrorCode;
use palyra_common::time::Duration;

use super::door::Door;
use super::refusal::{Answer, Refusal};
use super::slots::SlotKeeper;
use super::{once, openai};
use crate::app::App;

/// What looks at everything that is stored.
const LONG_WORK: [&str; 2] = ["/admin/v1/events/verify", "/admin/v1/secrets/rotate-master"];
const LONG_WORK_TAKES: Duration = Duration::from_mins(10);

/// What waits for the end of a run.
const COMPLETIONS: &str = "/v1/chat/completions";
/// As long as it may work by default, and wait for its turn; agents that work for longer stream.
const COMPLETION_TAKES: Duration = Duration::from_mins(20);

/// A page of ours loads nothing from elsewhere and runs no script that is not a file of ours.
const CSP: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
                   connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; \
                   frame-ancestors 'none'";

/// What every answer says that says nothing else about it.
static HEADERS: LazyLock<[(HeaderName, HeaderValue); 8]> = LazyLock::new(|| {
    let own = HeaderName::from_static;
    let named = [
        (header::CONTENT_SECURITY_POLICY, CSP),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (own("cross-origin-opener-policy"), "same-origin"),
        (own("cross-origin-resource-policy"), "same-origin"),
        (own("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    named.map(|(name, value)| (name, HeaderValue::from_static(value)))
});

/// Turns foreign names and foreign pages away, bounds number and time of requests, and gives every
/// answer the headers that browsers heed.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let began = std::time::Instant::now();
    let may_change = !request.method().is_safe();
    let is_openai = openai::is_theirs(request.uri().path());
    let mut response = match admitted(&app, request, next).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    };
    if is_openai {
        response = openai::shaped(response);
    }
    if may_change {
        app.last_look.outdate();
    }
    crate::metrics::answered(response.status().as_u16(), began.elapsed());
    let headers = response.headers_mut();
    headers.reserve(HEADERS.len());
    for (name, value) in HEADERS.iter() {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    response
}

async fn admitted(app: &App, mut request: Request, next: Next) -> Answer<Response> {
    let _permit = match request.extensions().get::<Door>() {
        // The owner must get in when nobody else does; http.max_local_connections bounds it.
        Some(Door::Local) => None,
        Some(Door::Tcp(_) | Door::Grpc(_)) | None => {
            let hosts = app.hosts.load();
            check_host(&hosts, &request)?;
            check_origin(&hosts, &request)?;
            let what = "more requests are under way than http.max_requests";
            let busy = |_| Refusal::new(ErrorCode::HttpBusy, what);
            Some(app.requests.try_acquire().map_err(busy)?)
        }
    };
    // Kept here until the answer is made, taken where the caller is known.
    let slot = SlotKeeper::default();
    request.extensions_mut().insert(slot.clone());
    let patience = Patience::of(&request);
    let limit = patience.limit(app.config().http.request_timeout);
    let answer = tokio::time::timeout(limit.into(), next.run(request)).await;
    Ok(answer.unwrap_or_else(|_| patience.is_over(limit)))
}

/// How long a request is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// As long as is configured.
    Usual,
    /// It looks at everything, or asks a model.
    LongWork,
    /// It waits for a run, which the same request finds again if it has a key.
    Completion { has_key: bool },
}

impl Patience {
    fn of(request: &Request) -> Self {
        match request.uri().path() {
            COMPLETIONS => Self::Completion { has_key: request.headers().contains_key(once::KEY) },
            path if is_long(path) => Self::LongWork,
            _ => Self::Usual,
        }
    }

    fn limit(self, configured: Duration) -> Duration {
        match self {
            Self::Usual => configured,
            Self::LongWork => LONG_WORK_TAKES,
            Self::Completion { .. } => COMPLETION_TAKES,
        }
    }

    /// The answer to a request that was not done in time, with what can be done about it.
    fn is_over(self, limit: Duration) -> Response {
        let instead = match self {
            Self::Usual => "see http.request_timeout",
            Self::LongWork => {
                "no option gives such work more; do it when the machine has less to do"
            }
            Self::Completion { has_key: true } => {
                "the run goes on: send the same request with the same Idempotency-Key for its answer"
            }
            Self::Completion { has_key: false } => {
                "its run is stopped: ask with `stream`, which may take longer, or with an \
                 Idempotency-Key, with which the run goes on and the same request gets its answer"
            }
        };
        let what = format!("the request was not done within {limit}; {instead}");
        let mut response = Refusal::new(ErrorCode::HttpSlow, what).into_response();
        if self == (Self::Completion { has_key: false }) {
            response.extensions_mut().insert(openai::Begun);
        }
        response
    }
}

/// Whether a request may take long: what looks at everything, and what asks a model.
fn is_long(path: &str) -> bool {
    let asks = path.starts_with("/admin/v1/models/") && path.ends_with("/test");
    asks || LONG_WORK.contains(&path)
}

/// A name that somebody else made point to us is not ours (DNS rebinding). A proxy may have gone by
/// the name in the first line and we by the header: they say the same.
fn check_host(hosts: &[String], request: &Request) -> Answer<()> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let host = match (named.next(), named.next(), request.uri().authority()) {
        (Some(host), None, first_line) => host.to_str().ok().filter(|host| {
            first_line.is_none_or(|named| named.as_str().eq_ignore_ascii_case(host))
        }),
        (None, None, Some(authority)) => Some(authority.as_str()),
        _ => None,
    };
    match host {
        Some(host) if hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host)) => Ok(()),
        _ => Err(Refusal::new(
            ErrorCode::HttpHostRefused,
            "the Host header, or the address in the first line, does not name this daemon",
        )),
    }
}

/// Browsers tell from which page a request comes; other clients send no such header.
fn check_origin(hosts: &[String], request: &Request) -> Answer<()> {
    let headers = request.headers();
    let refused =
        || Refusal::new(ErrorCode::HttpOriginRefused, "the request comes from another site");
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else {
        let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        let mode = headers.get("sec-fetch-mode").and_then(|mode| mode.to_str().ok());
        // A link may be followed from anywhere; anything else from elsewhere is not ours.
        let link = mode == Some("navigate") && request.method().is_safe();
        let foreign = matches!(site, Some("cross-site" | "same-site")) && !link;
        return if foreign { Err(refused()) } else { Ok(()) };
    };
    if origins.next().is_some() {
        return Err(refused());
    }
    let origin = origin.to_str().map_err(|_| refused())?;
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    match host {
        Some(host) if hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host)) => Ok(()),
        _ => Err(refused()),
    }
}

#[cfg(test)]
mod tests;
