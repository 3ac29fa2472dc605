//! Events as they happen, for as long as somebody reads them.
//!
//! Nothing is kept for a reader: what comes is read when there is room for it on the connection, and
//! one who does not read is cut off by the connection itself. A stream ends when the daemon stops, when
//! its place is needed, or when its credential has ended; whoever wants more comes back with the number
//! of the last event.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use futures_util::{Stream, stream};
use palyra_common::ErrorCode;
use palyra_common::runtime_contracts::Scope;
use palyra_identity::Access;
use serde::Serialize;
use tokio::sync::watch;

use super::refusal::{Answer, Refusal};
use crate::app::App;
use crate::readers::{Reading, Told};

/// A comment, which readers pass over.
const BREATH: &str = ":\n\n";

/// The last event of what has an end.
pub(crate) const OVER: &str = "event: over\ndata: {}\n\n";

/// Told when a connection is to end.
#[derive(Debug, Clone)]
pub(crate) struct Ending(pub(crate) watch::Receiver<bool>);

/// The number of the last event that a reader has seen.
#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct LastEvent {
    /// The number of the last event that was seen; browsers send it by themselves
    #[param(rename = "Last-Event-ID", value_type = Option<i64>, minimum = 0)]
    pub(crate) seq: Option<i64>,
}

impl FromRequestParts<App> for LastEvent {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Answer<Self> {
        let Some(told) = parts.headers.get("last-event-id") else { return Ok(Self { seq: None }) };
        let seq = told.to_str().ok().and_then(|told| told.parse::<i64>().ok());
        let seq = seq.filter(|seq| *seq >= 0).ok_or_else(|| {
            Refusal::new(ErrorCode::HttpMalformed, "Last-Event-ID is the number of an event")
        })?;
        Ok(Self { seq: Some(seq) })
    }
}

/// One event as it is sent.
pub(crate) fn event(seq: i64, kind: &str, data: &impl Serialize) -> String {
    let data = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    format!("id: {seq}\nevent: {kind}\ndata: {data}\n\n")
}

/// Where events come from.
pub(crate) trait Source: Send + 'static {
    /// The next ones as they are sent; nothing after the last. Cancel safe.
    fn next(&mut self) -> BoxFuture<'_, Option<String>>;

    /// What is said to a reader whose stream ends before its end; once.
    fn cut_off(&mut self) -> Option<String> {
        None
    }
}

/// Whoever reads, and by what right.
pub(crate) struct Reader {
    pub(crate) app: App,
    pub(crate) access: Access,
    pub(crate) scope: Scope,
    pub(crate) ending: Ending,
}

struct Open<S> {
    source: S,
    reading: Reading,
    ending: Ending,
}

/// The answer that events come through.
pub(crate) fn answer(source: impl Source, reader: Reader) -> Answer<Response> {
    let Reader { app, access, scope, ending } = reader;
    let reading = app.readers.enter(&access, scope)?;
    let body = Body::from_stream(pieces(Open { source, reading, ending }));
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}

fn pieces<S: Source>(open: Open<S>) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(open, |mut open| async move {
        let piece = open.piece().await?;
        Some((Ok(Bytes::from(piece)), open))
    })
}

impl<S: Source> Open<S> {
    async fn piece(&mut self) -> Option<String> {
        tokio::select! {
            biased;
            _ = self.ending.0.wait_for(|ending| *ending) => {}
            told = self.reading.told() => match told {
                Told::Breathe => return Some(BREATH.to_owned()),
                Told::Refused(_) => {}
            },
            found = self.source.next() => return found,
        }
        self.source.cut_off()
    }
}
