//! Connections, no more than are allowed at once, and none that only holds its place.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};
use tonic::transport::server::Connected;

use crate::transport::patient::Patient;
use crate::transport::room::{Place, Room};

/// How long to wait after a connection could not be accepted, as when files run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What every client of HTTP/2 sends first has this many bytes.
const PREFACE_BYTES: usize = 24;

/// How long connections may last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ages {
    /// After this, no new calls are taken on a connection.
    pub(super) age: Duration,
    /// How long the calls that are under way by then may go on. Streams of runs last longer.
    pub(super) patience: Duration,
}

/// The next connection, each time there is room for one. Those who come too early wait in the
/// queue of the operating system. Whoever does not say what every client says first in time, or soon
/// when others wait, is cut off; later silence is noticed by the keepalive of HTTP/2.
pub(super) fn incoming(
    listener: TcpListener,
    limit: usize,
    ages: Ages,
) -> impl Stream<Item = io::Result<Counted>> {
    let room = Room::new("gRPC", "http.max_connections", limit);
    unfold((listener, room), move |(listener, room)| async move {
        let place = room.enter().await?;
        let (stream, address) = loop {
            match listener.accept().await {
                Ok(accepted) => break accepted,
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
                () = tokio::time::sleep(ages.patience) => {}
                () = wanted => {}
            }
        };
        let preface = Some(Preface { missing: PREFACE_BYTES, due: Box::pin(due) });
        let stream = Patient::new(stream, ages.patience);
        let peer = Peer { address, streams: Arc::default() };
        let end = End {
            due: Box::pin(tokio::time::sleep(ages.age + ages.patience)),
            patience: ages.patience,
            taken: None,
        };
        Some((Ok(Counted { stream, preface, peer, end, _place: place }), (listener, room)))
    })
}

/// Whose connection it is.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    pub(super) streams: Arc<Streams>,
}

/// The streams of runs on a connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pub(super) open: AtomicU64,
    /// Those whose client has not taken what was handed over last.
    pub(super) stuck: AtomicU64,
    /// How often something was taken, or waited for.
    pub(super) taken: AtomicU64,
}

/// A connection that counts for as long as it lasts.
pub(super) struct Counted {
    stream: Patient<TcpStream>,
    /// Nothing once it has arrived.
    preface: Option<Preface>,
    peer: Peer,
    end: End,
    _place: Place,
}

struct Preface {
    missing: usize,
    due: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// When a connection ends that is older than it may be, and holds only its place.
struct End {
    due: Pin<Box<Sleep>>,
    patience: Duration,
    /// How much had been taken when all of its streams were found stuck.
    taken: Option<u64>,
}

impl End {
    fn poll(&mut self, streams: &Streams, cx: &mut Context<'_>) -> io::Result<()> {
        while self.due.as_mut().poll(cx).is_ready() {
            let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            let (open, taken) = (count(&streams.open), count(&streams.taken));
            let is_stuck = open == count(&streams.stuck);
            if open == 0 || (is_stuck && self.taken == Some(taken)) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.taken = is_stuck.then_some(taken);
            self.due.as_mut().reset(Instant::now() + self.patience);
        }
        Ok(())
    }
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
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
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
        let Self { end, peer, .. } = &mut *self;
        end.poll(&peer.streams, cx)?;
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
