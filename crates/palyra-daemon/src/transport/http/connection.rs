//! One connection.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use palyra_common::ErrorCode;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tower::Service;

use super::door::Door;
use super::sse::Ending;
use super::unread::{AnswerUnread, raw_answer};
use crate::transport::patient::Patient;
use crate::transport::room::Place;

/// How long a client may take to read what it did wrong.
const LAST_WORDS: Duration = Duration::from_secs(2);

const TOO_LATE: &str = "the head of the request did not arrive within http.request_timeout";

const NO_ROOM: &str = "the head of the request did not arrive in time for others, who wait because \
                       as many connections are open as may be";

#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionOptions {
    /// How long the head of a request may take to arrive, and its answer to be taken.
    pub(crate) patience: Duration,
    pub(crate) max_head_bytes: usize,
    pub(crate) max_headers: usize,
}

pub(crate) struct Connection {
    pub(crate) router: Router,
    pub(crate) options: ConnectionOptions,
    pub(crate) door: Door,
    pub(crate) stop: watch::Receiver<bool>,
    /// Kept for as long as the connection lasts.
    pub(crate) place: Place,
}

type Answering = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

impl Connection {
    /// Serves requests until either side has had enough. What goes wrong here concerns this client
    /// alone, which is told as far as it can be.
    pub(crate) async fn serve<S>(mut self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (router, door) = (self.router.clone(), self.door);
        let asked = Arc::new(AtomicU64::new(0));
        let (wanted, count) = (self.place.is_wanted(asked.clone()), asked.clone());
        tokio::pin!(wanted);
        // What has no end of its own ends with the connection.
        let (end, ending) = watch::channel(false);
        let answer = service_fn(move |request: hyper::Request<Incoming>| -> Answering {
            count.fetch_add(1, Ordering::Relaxed);
            let mut request: Request = request.map(Body::new);
            request.extensions_mut().insert(door);
            request.extensions_mut().insert(Ending(ending.clone()));
            Box::pin(router.clone().call(request))
        });
        let stream = Patient::new(stream, self.options.patience);
        let io = TokioIo::new(AnswerUnread::new(stream, self.options.max_head_bytes));
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.options.patience)
            .max_header_size(self.options.max_head_bytes)
            .max_headers(self.options.max_headers)
            .serve_connection(io, answer);
        let mut closing = false;
        let late = loop {
            tokio::select! {
                ended = poll_fn(|cx| connection.poll_without_shutdown(cx)) => {
                    break ended.is_err_and(|error| error.is_timeout()).then_some(TOO_LATE);
                }
                _ = self.stop.wait_for(|stop| *stop), if !closing => {
                    closing = true;
                    end.send_replace(true);
                    Pin::new(&mut connection).graceful_shutdown();
                }
                // What was asked is answered first; whoever never asked has nothing to wait for.
                () = &mut wanted, if !closing => match asked.load(Ordering::Relaxed) {
                    0 => break Some(NO_ROOM),
                    _ => {
                        closing = true;
                        end.send_replace(true);
                        Pin::new(&mut connection).graceful_shutdown();
                    }
                }
            }
        };
        let parts = connection.into_parts();
        let mut stream = parts.io.into_inner().into_inner().into_inner();
        if let Some(what) = late
            && !parts.read_buf.is_empty()
        {
            let answer = raw_answer("408 Request Timeout", ErrorCode::HttpSlow, what);
            let told = async { stream.write_all(&answer).await };
            // Whoever is this slow may not be there any more.
            let _ = tokio::time::timeout(LAST_WORDS, told).await;
        }
        let _ = tokio::time::timeout(LAST_WORDS, stream.shutdown()).await;
    }
}
