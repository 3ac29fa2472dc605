//! Connections, no more than are allowed at once, and none that only holds its place.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tonic::transport::server::Connected;

use crate::transport::patient::Patient;
use crate::transport::room::{Place, Room};

/// How long to wait after a connection could not be accepted, as when files run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What every client of HTTP/2 sends first has this many bytes.
const PREFACE_BYTES: usize = 24;

/// The next connection, each time there is room for one. Those who come too early wait in the
/// queue of the operating system. Whoever does not say what every client says first `within` this
/// time, or soon when others wait, is cut off; later silence is noticed by the keepalive of HTTP/2.
pub(super) fn incoming(
    listener: TcpListener,
    limit: usize,
    within: Duration,
) -> impl Stream<Item = io::Result<Counted>> {
    let room = Room::new("gRPC", "http.max_connections", limit);
    unfold((listener, room), move |(listener, room)| async move {
        let place = room.enter().await?;
        let stream = loop {
            match listener.accept().await {
                Ok((stream, _)) => break stream,
                Err(error) => {
                    tracing::warn!(%error, "a gRPC connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        };
        // Small answers are not held back; without it they are only slower.
        let _ = stream.set_nodelay(true);
        let wanted = place.is_wanted(Arc::default());
        let due = async move {
            tokio::select! {
                () = tokio::time::sleep(within) => {}
                () = wanted => {}
            }
        };
        let preface = Some(Preface { missing: PREFACE_BYTES, due: Box::pin(due) });
        let stream = Patient::new(stream, within);
        Some((Ok(Counted { stream, preface, _place: place }), (listener, room)))
    })
}

/// A connection that counts for as long as it lasts.
pub(super) struct Counted {
    stream: Patient<TcpStream>,
    /// Nothing once it has arrived.
    preface: Option<Preface>,
    _place: Place,
}

struct Preface {
    missing: usize,
    due: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Counted {
    /// Counts `read` bytes towards the preface, or fails once it is overdue.
    fn expect_preface(&mut self, read: Option<usize>, cx: &mut Context<'_>) -> io::Result<()> {
        let Some(preface) = &mut self.preface else { return Ok(()) };
        preface.missing = preface.missing.saturating_sub(read.unwrap_or_default());
        if preface.missing == 0 {
            self.preface = None;
        } else if preface.due.as_mut().poll(cx).is_ready() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl Connected for Counted {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        let read = polled.is_ready().then(|| buf.filled().len() - before);
        self.expect_preface(read, cx)?;
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
