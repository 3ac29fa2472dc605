//! One connection that events come through.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use sse_stream::{Error as SseError, SseByteStream};

use crate::client::Client;
use crate::error::ClientError;

/// No event is larger than this.
const EVENT_BYTES: usize = 16 << 20;

/// The event behind the last one, which has no number.
const OVER: &str = "over";

/// An event as it came: its number, and what it holds. Without that it says where events are.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) seq: i64,
    pub(super) data: Option<String>,
}

/// What came.
#[derive(Debug)]
pub(super) enum Told {
    Event(Numbered),
    /// The last event was told.
    Over,
}

/// What comes until the connection ends. Cancel safe.
pub(super) struct Connection {
    client: Client,
    events: BoxStream<'static, Result<sse_stream::Sse, SseError>>,
    since_event: Arc<AtomicUsize>,
}

impl Connection {
    /// `response` as events, if that is what it is.
    pub(super) fn new(client: Client, response: Response) -> Result<Self, ClientError> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return Err(client.unexpected("something else than a stream of events"));
        }
        let since_event = Arc::new(AtomicUsize::new(0));
        let pieces = pieces(client.clone(), response, Arc::clone(&since_event));
        Ok(Self { client, events: SseByteStream::new(Box::pin(pieces)).boxed(), since_event })
    }

    /// What comes next; nothing after the end.
    pub(super) async fn next(&mut self) -> Result<Option<Told>, ClientError> {
        while let Some(event) = self.events.next().await {
            self.since_event.store(0, Ordering::Relaxed);
            let event = event.map_err(|error| self.broken(error))?;
            if event.event.as_deref() == Some(OVER) {
                return Ok(Some(Told::Over));
            }
            match (event.id.and_then(|id| id.parse().ok()), event.data) {
                (Some(seq), data) => return Ok(Some(Told::Event(Numbered { seq, data }))),
                (None, Some(_)) => return Err(self.client.unexpected("an event without a number")),
                (None, None) => {}
            }
        }
        Ok(None)
    }

    fn broken(&self, error: SseError) -> ClientError {
        match error {
            SseError::Body(inner) => match inner.downcast::<ClientError>() {
                Ok(error) => *error,
                Err(other) => self.client.unexpected(other.to_string()),
            },
            _ => self.client.unexpected("a stream of events that is not text"),
        }
    }
}

/// The pieces of a body, as long as no event is too large.
fn pieces(
    client: Client,
    response: Response,
    since_event: Arc<AtomicUsize>,
) -> impl Stream<Item = Result<Bytes, ClientError>> + Send {
    stream::try_unfold((client, response), move |(client, mut response)| {
        let since_event = Arc::clone(&since_event);
        async move {
            let piece = response.chunk().await.map_err(|error| client.failed(error))?;
            let Some(piece) = piece else { return Ok(None) };
            if since_event.fetch_add(piece.len(), Ordering::Relaxed) + piece.len() > EVENT_BYTES {
                let most = EVENT_BYTES >> 20;
                return Err(client.unexpected(format!("an event of more than {most} MiB")));
            }
            Ok(Some((piece, (client, response))))
        }
    })
}
