//! What is told, one after the other, as fast as the client takes it.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::{BoxStream, StreamExt};
use tokio::time::Instant;
use tonic::Status;

use super::talk::too_slow;
use super::{Batch, RunStreamResponse};
use crate::transport::grpc::incoming::Peer;
use crate::transport::grpc::proto::gateway::run_stream_response::Event;

/// The responses of one stream. Polled only when there is room on the stream: if that is long after the
/// last one was handed over, the client is too slow.
pub(in crate::transport::grpc) struct Responses {
    batches: BoxStream<'static, Result<Batch, Status>>,
    ready: std::vec::IntoIter<RunStreamResponse>,
    taking: Taking,
    patience: Duration,
    /// When something was last handed over, unless that is taken: who is asked for more has room for it.
    handed_at: Option<Instant>,
    /// Whether that was since nothing was there to be handed over: what is small is sent then, so that it
    /// is the question after that which shows that it was taken.
    is_gathered: bool,
    run: String,
    seq: i64,
    is_over: bool,
}

impl Responses {
    pub(super) fn new(
        batches: BoxStream<'static, Result<Batch, Status>>,
        taking: Taking,
        patience: Duration,
    ) -> Self {
        Self {
            batches,
            ready: Vec::new().into_iter(),
            taking,
            patience,
            handed_at: None,
            is_gathered: false,
            run: String::new(),
            seq: 0,
            is_over: false,
        }
    }

    fn hand(&mut self, response: RunStreamResponse) -> RunStreamResponse {
        match &response.event {
            Some(Event::Entry(entry)) => self.seq = entry.seq,
            Some(Event::Attached(attached)) => {
                self.run.clone_from(&attached.run_id);
                self.seq = attached.after_seq;
            }
            Some(Event::Answered(_) | Event::Over(_)) | None => {}
        }
        self.is_gathered = true;
        self.owes();
        response
    }

    fn owes(&mut self) {
        self.handed_at = Some(Instant::now());
        self.taking.owes();
    }
}

impl Stream for Responses {
    type Item = Result<RunStreamResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        self.taking.takes();
        if self.handed_at.take().is_some_and(|at| at.elapsed() > self.patience) {
            self.is_over = true;
            return Poll::Ready(Some(Err(too_slow(&self.run, self.seq, self.patience))));
        }
        loop {
            if let Some(next) = self.ready.next() {
                return Poll::Ready(Some(Ok(self.hand(next))));
            }
            match self.batches.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(batch))) => self.ready = batch.into_iter(),
                Poll::Ready(Some(Err(status))) => {
                    self.is_over = true;
                    return Poll::Ready(Some(Err(status)));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    if std::mem::take(&mut self.is_gathered) {
                        self.owes();
                    }
                    return Poll::Pending;
                }
            }
        }
    }
}

/// Whether a client takes what it is told, as its connection sees it.
pub(super) struct Taking {
    peer: Option<Peer>,
    owes: bool,
}

impl Taking {
    pub(super) fn new(peer: Option<Peer>) -> Self {
        if let Some(peer) = &peer {
            peer.streams.open.fetch_add(1, Ordering::Relaxed);
        }
        Self { peer, owes: false }
    }

    fn owes(&mut self) {
        if let Some(peer) = self.peer.as_ref().filter(|_| !self.owes) {
            peer.streams.stuck.fetch_add(1, Ordering::Relaxed);
            self.owes = true;
        }
    }

    fn takes(&mut self) {
        let Some(peer) = &self.peer else { return };
        peer.streams.taken.fetch_add(1, Ordering::Relaxed);
        if std::mem::take(&mut self.owes) {
            peer.streams.stuck.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        self.takes();
        if let Some(peer) = &self.peer {
            peer.streams.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
