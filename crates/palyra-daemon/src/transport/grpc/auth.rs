//! Who calls. Everything but the health service needs an API token.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_identity::Access;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use crate::app::App;
use crate::transport::http::{Refusal, Slot};

const HEALTH: &str = "/grpc.health.v1.Health/";
const REFLECTION: &str = "/grpc.reflection.";

/// Puts the caller's [`Access`] into each request, or refuses it.
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
        Box::pin(async move {
            let mut held = None;
            if needs_login(&app, request.uri().path()) {
                let bearer = request.headers().get(header::AUTHORIZATION).cloned();
                match authenticate(&app, bearer).await {
                    Ok((access, slot)) => {
                        request.extensions_mut().insert(access);
                        held = slot;
                    }
                    Err(envelope) => return Ok(refused(&envelope).into_http()),
                }
            }
            let response = inner.call(request).await?;
            Ok(response.map(|body| holding(body, held)))
        })
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

async fn authenticate(
    app: &App,
    bearer: Option<HeaderValue>,
) -> Result<(Access, Option<Slot>), StableErrorEnvelope> {
    let refuse = |code, what: &str| Err(StableErrorEnvelope::new(code, what));
    let Some(bearer) = bearer else {
        return refuse(ErrorCode::AuthRequired, "this needs an API token");
    };
    let secret = bearer.to_str().ok().and_then(crate::transport::http::bearer_secret);
    let Some(secret) = secret else {
        return refuse(ErrorCode::AuthInvalid, "the header is not a bearer token");
    };
    let access = app.identity.authenticate_token(secret).await.map_err(|error| error.envelope())?;
    let busy = |refusal: Refusal| refusal.envelope().clone();
    app.rates.admit(&access).map_err(busy)?;
    let slot = app.slots.take(&access).map_err(busy)?;
    Ok((access, slot))
}

/// An error with the nearest code of gRPC. The stable code stands in the message.
pub(super) fn refused(envelope: &StableErrorEnvelope) -> Status {
    let code = match envelope.known_code() {
        Some(
            ErrorCode::AuthRequired
            | ErrorCode::AuthInvalid
            | ErrorCode::AuthExpired
            | ErrorCode::AuthRevoked,
        ) => Code::Unauthenticated,
        Some(ErrorCode::AuthForbidden) => Code::PermissionDenied,
        Some(ErrorCode::HttpBusy) => Code::ResourceExhausted,
        _ if envelope.retryable() => Code::Unavailable,
        _ => Code::Internal,
    };
    Status::new(code, format!("{envelope}: {}", envelope.recovery_hint()))
}
