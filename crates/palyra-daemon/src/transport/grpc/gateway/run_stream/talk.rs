//! A stream on which a run is followed.

use std::collections::VecDeque;
use std::time::Duration;

use palyra_common::ids::{RunId, SessionId};
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_gateway::{Follow, TapeLine};
use palyra_storage::StorageError;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::{Status, Streaming};

use super::Batch;
use crate::app::App;
use crate::readers::{Reading, Told};
use crate::transport::grpc::encode;
use crate::transport::grpc::proto::gateway::run_stream_response::Event;
use crate::transport::grpc::proto::gateway::{
    RunAttached, RunOver, RunStreamRequest, RunStreamResponse,
};
use crate::transport::grpc::refused::{at_entry, completed, refused};
use crate::transport::http::Caller;

/// Runs that are followed one after the other.
pub(super) const MOST_NEXT: usize = 64;

/// A client and what it follows.
pub(super) struct Talk {
    pub(super) app: App,
    pub(super) caller: Caller,
    requests: Streaming<RunStreamRequest>,
    /// Whether the client may say more.
    is_open: bool,
    stop: watch::Receiver<bool>,
    reading: Reading,
    pub(super) session: SessionId,
    /// Nothing: all is told that there was to follow.
    pub(super) followed: Option<Followed>,
    /// What is followed after that.
    pub(super) next: VecDeque<RunId>,
    idle_since: Instant,
}

/// The run that is followed.
pub(super) struct Followed {
    pub(super) run: RunId,
    follow: Follow,
    /// The last entry that was told.
    seq: i64,
}

/// What a stream waits for.
enum Happened {
    Stop,
    Told(Told),
    Said(Result<Option<RunStreamRequest>, Status>),
    Entries(Result<Vec<TapeLine>, StorageError>),
}

impl Followed {
    async fn entries(followed: &mut Option<Self>) -> Result<Vec<TapeLine>, StorageError> {
        match followed {
            Some(followed) => followed.follow.next_lines().await,
            None => std::future::pending().await,
        }
    }
}

impl Talk {
    pub(super) fn new(
        app: App,
        caller: Caller,
        requests: Streaming<RunStreamRequest>,
        stop: watch::Receiver<bool>,
        reading: Reading,
        session: SessionId,
    ) -> Self {
        let (followed, next, idle_since) = (None, VecDeque::new(), Instant::now());
        Self {
            app,
            caller,
            requests,
            is_open: true,
            stop,
            reading,
            session,
            followed,
            next,
            idle_since,
        }
    }

    pub(super) fn follow_first(mut self, run: RunId, after: i64) -> (Self, Batch) {
        let attached = self.follow(run, after);
        (self, vec![attached])
    }

    /// Follows a run from here on.
    pub(super) fn follow(&mut self, run: RunId, after: i64) -> RunStreamResponse {
        let follow = self.app.runs.streams.follow(run, after);
        self.followed = Some(Followed { run, follow, seq: after });
        response(Event::Attached(RunAttached {
            session_id: self.session.to_string(),
            run_id: run.to_string(),
            after_seq: after,
        }))
    }

    /// What is told next; nothing behind the last of it.
    pub(super) async fn batch(&mut self) -> Option<Result<Batch, Status>> {
        loop {
            if self.followed.is_none() && (!self.is_open || self.is_forgotten()) {
                return None;
            }
            let happened = tokio::select! {
                _ = self.stop.wait_for(|stop| *stop) => Happened::Stop,
                told = self.reading.told() => Happened::Told(told),
                said = self.requests.message(), if self.is_open => Happened::Said(said),
                entries = Followed::entries(&mut self.followed) => Happened::Entries(entries),
            };
            return Some(match happened {
                Happened::Stop => Err(self.stopping()),
                Happened::Told(Told::Breathe) => continue,
                Happened::Told(Told::Refused(refusal)) => Err(self.ended(refusal.envelope())),
                Happened::Said(Ok(Some(request))) => Ok(self.answer(request).await),
                Happened::Said(Ok(None)) => {
                    self.is_open = false;
                    continue;
                }
                Happened::Said(Err(status)) => Err(self.placed(completed(status))),
                Happened::Entries(Ok(entries)) => Ok(self.told(entries)),
                Happened::Entries(Err(error)) => Err(self.ended(&error.envelope())),
            });
        }
    }

    /// What happened; nothing more where there is nothing.
    fn told(&mut self, entries: Vec<TapeLine>) -> Batch {
        let Some(followed) = &mut self.followed else { return Batch::new() };
        if let Some(last) = entries.last() {
            followed.seq = last.seq;
            let entry = |line| response(Event::Entry(encode::entry(line)));
            return entries.into_iter().map(entry).collect();
        }
        let over = RunOver { run_id: followed.run.to_string(), last_seq: followed.seq };
        let mut batch = vec![response(Event::Over(over))];
        (self.followed, self.idle_since) = (None, Instant::now());
        if let Some(run) = self.next.pop_front() {
            batch.push(self.follow(run, 0));
        }
        batch
    }

    /// Whether the client has had all that there was for so long that it will not say more.
    fn is_forgotten(&self) -> bool {
        let kept: Duration = self.app.config().grpc.max_connection_age.into();
        self.idle_since.elapsed() >= kept
    }

    fn stopping(&self) -> Status {
        let what = "the daemon is stopping; attach again when it is back";
        self.ended(&StableErrorEnvelope::new(ErrorCode::StorageShuttingDown, what))
    }

    /// Why the stream ends, and where it is gone on with.
    fn ended(&self, envelope: &StableErrorEnvelope) -> Status {
        self.placed(refused(envelope))
    }

    fn placed(&self, status: Status) -> Status {
        match &self.followed {
            Some(followed) => at_entry(status, followed.run, followed.seq),
            None => status,
        }
    }
}

/// Of a client that was cut off because it takes nothing.
pub(super) fn too_slow(run: &str, seq: i64, patience: Duration) -> Status {
    let what = format!(
        "nothing was taken from the stream for {} s; attach to the run {run} again after entry {seq}",
        patience.as_secs_f64()
    );
    let envelope = StableErrorEnvelope::new(ErrorCode::StreamSlowReader, what)
        .with_details(json!({ "run_id": run, "last_seq": seq }));
    let status = refused(&envelope);
    match run.parse() {
        Ok(run) => at_entry(status, run, seq),
        Err(_) => status,
    }
}

pub(super) fn response(event: Event) -> RunStreamResponse {
    RunStreamResponse { event: Some(event) }
}
