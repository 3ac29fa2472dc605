//! Who calls. Everything but the health service needs an API token.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use palyra_common::ErrorCode;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use super::gateway::RUN_STREAM;
use super::incoming::Peer;
use super::refused::{completed, refusal};
use crate::app::App;
use crate::transport::http::{Answer, Caller, Door, Refusal, Slot, bearer_secret};

const HEALTH: &str = "/grpc.health.v1.Health/";
const REFLECTION: &str = "/grpc.reflection.";

/// Puts the [`Caller`] into each request, or refuses it; and bounds how long an answer may take.
#[derive(Clone)]
pub(super) struct AuthLayer(App);

impl AuthLayer {
    pub(super) fn new(app: App) -> Self {
        Self(app)
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = Auth<S>;

    fn layer(&self, inner: S) -> Auth<S> {
        Auth { app: self.0.clone(), inner }
    }
}

#[derive(Clone)]
pub(super) struct Auth<S> {
    app: App,
    inner: S,
}

impl<S> Service<Request<Body>> for Auth<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let next = self.inner.clone();
        // The one that was polled is ready; the clone is for the call after this.
        let mut inner = std::mem::replace(&mut self.inner, next);
        let app = self.app.clone();
        let limit = app.config().http.request_timeout;
        Box::pin(async move {
            let answer = async move {
                let mut held = None;
                let path = request.uri().path();
                // Whoever follows a run has a place among those who read, as over HTTP.
                let follows = path == RUN_STREAM;
                if needs_login(&app, path) {
                    let bearer = request.headers().get(header::AUTHORIZATION).cloned();
                    let peer = request.extensions().get::<Peer>().cloned();
                    match admitted(&app, bearer, peer).await {
                        Ok((caller, slot)) => {
                            request.extensions_mut().insert(caller);
                            held = slot.filter(|_| !follows);
                        }
                        Err(refused) => return Ok(refusal(&refused).into_http()),
                    }
                }
                let response = inner.call(request).await?;
                Ok(with_stable_code(response).map(|body| holding(body, held)))
            };
            // A stream is answered at once, and then goes on.
            tokio::time::timeout(limit.into(), answer).await.unwrap_or_else(|_| {
                let what =
                    format!("the call was not done within {limit}; see http.request_timeout");
                Ok(refusal(&Refusal::new(ErrorCode::HttpSlow, what)).into_http())
            })
        })
    }
}

/// Gives what the transport refuses by itself its stable code.
fn with_stable_code(response: Response<Body>) -> Response<Body> {
    match Status::from_header_map(response.headers()) {
        Some(status) if status.code() != Code::Ok => completed(status).into_http(),
        Some(_) | None => response,
    }
}

/// The same body, which keeps the slot until it ends: an answer may be a stream, and the call is
/// under way for as long.
fn holding(body: Body, slot: Option<Slot>) -> Body {
    let Some(slot) = slot else { return body };
    Body::new(body.map_frame(move |frame| {
        let _held = &slot;
        frame
    }))
}

fn needs_login(app: &App, path: &str) -> bool {
    let open_reflection = app.config().grpc.open_reflection && path.starts_with(REFLECTION);
    !path.starts_with(HEALTH) && !open_reflection
}

async fn admitted(
    app: &App,
    bearer: Option<HeaderValue>,
    peer: Option<Peer>,
) -> Answer<(Caller, Option<Slot>)> {
    let refuse = |code, what: &str| Err(Refusal::new(code, what));
    let Some(bearer) = bearer else {
        return refuse(ErrorCode::AuthRequired, "this needs an API token");
    };
    let Some(secret) = bearer.to_str().ok().and_then(bearer_secret) else {
        return refuse(ErrorCode::AuthInvalid, "the header is not a bearer token");
    };
    let Some(peer) = peer else {
        return refuse(ErrorCode::AuthRequired, "the call came through no connection");
    };
    let access = app.identity.authenticate_token(secret).await?;
    app.rates.admit(&access)?;
    let slot = app.slots.take(&access)?;
    Ok((Caller::new(access, Door::Grpc(peer.address)), slot))
}
