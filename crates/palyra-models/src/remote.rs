//! A provider that is asked over HTTP.

mod http;
mod refusal;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt, stream};
use palyra_common::runtime_contracts::RetryClass;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Response, Url};
use serde_json::Value;
use sse_stream::{Error as SseError, SseByteStream};

use crate::answer::Incoming;
use crate::config::{ModelProviderConfig, ProviderKind};
use crate::dialect::{Fault, Progress};
use crate::error::{ModelError, Problem};
use crate::names::ToolNames;
use crate::port::{DeltaSink, ModelProvider};
use crate::request::{Completion, ModelRequest};
use crate::secret::{ApiKey, SecretError, SecretRef, SecretSource};

/// The largest event of a stream: a whole tool call with everything in it escaped.
const EVENT_BYTES: usize = 2 << 20;
/// The largest stream: some servers wrap a few letters into a kilobyte.
const STREAM_BYTES: usize = 64 << 20;

/// A provider behind an address.
pub(crate) struct Remote {
    name: String,
    kind: ProviderKind,
    url: Url,
    key: Option<SecretRef>,
    secrets: Arc<dyn SecretSource>,
    http: Client,
}

impl Remote {
    pub(crate) fn new(
        name: &str,
        config: &ModelProviderConfig,
        secrets: Arc<dyn SecretSource>,
    ) -> Result<Self, ModelError> {
        let wrong =
            |what| ModelError::Misconfigured { what: format!("models.providers.{name}: {what}") };
        let base = config.address().map_err(wrong)?;
        let http = http::client(config, &base).map_err(|error| wrong(http::root_cause(&error)))?;
        let key = config.key().map_err(wrong)?;
        let (name, kind) = (name.to_owned(), config.kind);
        Ok(Self { name, kind, url: kind.address(&base), key, secrets, http })
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        sink: &mut dyn DeltaSink,
    ) -> Result<Completion, Problem> {
        let names = ToolNames::of(request);
        let key = self.key().await?;
        let headers = match (self.kind.headers(key.as_ref()), &self.key) {
            (Some(headers), _) => headers,
            (None, Some(name)) => return Err(unusable(name)),
            (None, None) => Default::default(),
        };
        let body = self.kind.body(request, &names, &self.url).to_string();
        let call = self.http.post(self.url.clone()).headers(headers).body(body);
        let call =
            call.header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream");
        let response = call.send().await.map_err(|error| http::problem(&error))?;
        if !response.status().is_success() {
            return Err(refusal::read(response, request, key.as_ref()).await);
        }
        if !is_stream(&response) {
            return Err(Problem::Malformed { what: "it is not a stream of events" });
        }
        let mut incoming = Incoming::new(sink);
        match self.listen(response, &mut incoming).await {
            Ok(()) => Ok(incoming.complete(request, &names)),
            Err(Fault::Problem(problem)) => Err(problem),
            Err(Fault::Told(told)) => Err(refusal::in_stream(&told, request, key.as_ref())),
        }
    }

    async fn key(&self) -> Result<Option<ApiKey>, Problem> {
        let Some(name) = &self.key else { return Ok(None) };
        let failed = |source| Problem::NoKey { name: name.clone(), source };
        self.secrets.secret(name).await.map(Some).map_err(failed)
    }

    /// Takes in events until the answer is complete.
    async fn listen(&self, response: Response, to: &mut Incoming<'_>) -> Result<(), Fault> {
        let since_event = Arc::new(AtomicUsize::new(0));
        let mut events = Box::pin(SseByteStream::new(pieces(response, Arc::clone(&since_event))));
        while let Some(event) = events.next().await {
            since_event.store(0, Ordering::Relaxed);
            let data = match event {
                Ok(event) => event.data,
                // What broke off then was not the answer.
                Err(error) if to.finish.is_some() && is_over(&error) => return Ok(()),
                Err(error) => return Err(broken(error).into()),
            };
            let Some(data) = data else { continue };
            if self.kind.read(&data, to)? == Progress::Done {
                let what = "it ends before it has begun";
                return if to.is_empty() {
                    Err(Problem::Malformed { what }.into())
                } else {
                    Ok(())
                };
            }
        }
        // Some do not say that this is the end, but none leaves out why.
        if to.finish.is_some() { Ok(()) } else { Err(Problem::CutOff.into()) }
    }
}

impl ModelProvider for Remote {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Completion, ModelError>> {
        Box::pin(async move {
            self.ask(request, sink).await.map_err(|problem| ModelError::Call {
                provider: self.name.clone(),
                model: request.model.clone(),
                problem,
            })
        })
    }
}

fn unusable(name: &SecretRef) -> Problem {
    let what = "it has characters that no key has, such as a line break".into();
    let source = SecretError { what, class: RetryClass::Permanent };
    Problem::NoKey { name: name.clone(), source }
}

/// Who says nothing about it is believed.
fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_none_or(|kind| kind.trim_start().starts_with("text/event-stream"))
}

/// The pieces of a body, as long as neither an event nor the whole is too large.
fn pieces(
    response: Response,
    since_event: Arc<AtomicUsize>,
) -> impl Stream<Item = Result<Bytes, Problem>> {
    stream::try_unfold((response, 0_usize), move |(mut response, before)| {
        let since_event = Arc::clone(&since_event);
        async move {
            let piece = response.chunk().await.map_err(|error| http::problem(&error))?;
            let Some(piece) = piece else { return Ok(None) };
            let all = before + piece.len();
            let event = since_event.fetch_add(piece.len(), Ordering::Relaxed) + piece.len();
            if event > EVENT_BYTES {
                return Err(Problem::TooLarge { what: "bytes in one event", limit: EVENT_BYTES });
            }
            if all > STREAM_BYTES {
                return Err(Problem::TooLarge { what: "bytes", limit: STREAM_BYTES });
            }
            Ok(Some((piece, (response, all))))
        }
    })
}

fn is_over(error: &SseError) -> bool {
    match error {
        SseError::Body(inner) => {
            matches!(inner.downcast_ref(), Some(Problem::CutOff | Problem::TimedOut))
        }
        _ => false,
    }
}

fn broken(error: SseError) -> Problem {
    let what = "the stream of events is not text";
    match error {
        SseError::Body(inner) => inner.downcast().map_or(Problem::CutOff, |problem| *problem),
        _ => Problem::Malformed { what },
    }
}

/// What a provider says about an error, as a value; nothing where it is not JSON.
fn parsed(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_default()
}
