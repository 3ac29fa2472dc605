//! One connector at work.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use palyra_storage::lease::Lease;
use palyra_storage::{EngineKind, describe};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Shared;
use super::drain::Drain;
use crate::adapter::{AdapterContext, ConnectorAdapter, End};
use crate::connection::Connection;
use crate::resume::Progress;
use crate::store::connectors::Connector;

/// How long what was sent last may take to arrive.
const LAST_WORD: Duration = Duration::from_secs(1);

/// How long an adapter may take to end.
const GOODBYE: Duration = Duration::from_secs(5);

/// The lease of a connector, and since when it is ours.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) lease: Lease,
    pub(super) since: Instant,
}

/// Runs the adapter of a connector and sends what is due through it, until it is asked to stop or
/// the adapter ends. What has been begun is settled before this returns.
pub(super) async fn run(
    shared: Arc<Shared>,
    connector: Arc<Connector>,
    held: Held,
    stop: watch::Receiver<bool>,
    wake: Arc<Notify>,
) -> End {
    let adapter = match shared.adapters.build(&connector) {
        Ok(adapter) => adapter,
        Err(reason) => return End::Misconfigured(reason.into()),
    };
    let connection = Arc::new(Connection::new(shared.clock.clone()));
    let _runs = shared.here.runs(&connector.id, adapter.clone(), connection.clone());
    let (stop_adapter, adapter_stop) = watch::channel(false);
    let context = context(&shared, &connector, &held, connection);
    let (mut holding, held_on) = hold(adapter.clone(), context, adapter_stop);
    let mut left = TakeOver::planned(&shared, &connector, &held);
    let mut drain = Drain::new(shared.clone(), connector, adapter, held.lease);
    // One that has ended at once is asked for nothing.
    let mut end = match held_on.await {
        Ok(()) => None,
        Err(_) => Some(unasked(reason((&mut holding).await), &stop)),
    };
    loop {
        left.try_now(&shared, &drain).await;
        // Where it has ended and nothing is under way, why it did is asked below.
        let open = end.is_none() && !*stop.borrow() && !holding.is_finished();
        if open {
            drain.start().await;
        }
        if !open && drain.is_empty() {
            break;
        }
        let mut stopped = stop.clone();
        tokio::select! {
            () = drain.progress() => {}
            () = wake.notified(), if open => {}
            () = left.due(), if open => {}
            ended = &mut holding, if end.is_none() => end = Some(unasked(reason(ended), &stop)),
            _ = stopped.wait_for(|stop| *stop), if open => {}
        }
        drain.write().await;
        if let Some(failed) = drain.auth_failed.take() {
            end.get_or_insert(End::AuthFailed(failed));
        }
    }
    stop_adapter.send_replace(true);
    let_go(holding, end).await
}

/// Ends the connection, unless it has ended: it was asked to.
async fn let_go(mut holding: JoinHandle<End>, end: Option<End>) -> End {
    match end {
        Some(End::AuthFailed(failed)) => {
            holding.abort();
            End::AuthFailed(failed)
        }
        Some(end) => end,
        None => match tokio::time::timeout(GOODBYE, &mut holding).await {
            Ok(ended) => reason(ended),
            Err(_) => {
                holding.abort();
                End::AsAsked
            }
        },
    }
}

fn context(
    shared: &Shared,
    connector: &Arc<Connector>,
    held: &Held,
    connection: Arc<Connection>,
) -> AdapterContext {
    let progress = Progress::new(held.lease.token(), shared.positions.clone());
    let (connector, inbound) = (connector.clone(), shared.inbound.clone());
    AdapterContext { connector, inbound, connection, progress: Arc::new(progress) }
}

/// The connection, in a task of its own: whatever it does, what was begun is settled. Told is when
/// it has begun and goes on, and nothing if it has ended at once.
fn hold(
    adapter: Arc<dyn ConnectorAdapter>,
    context: AdapterContext,
    stop: watch::Receiver<bool>,
) -> (JoinHandle<End>, oneshot::Receiver<()>) {
    let (goes_on, held_on) = oneshot::channel();
    let holding = tokio::spawn(async move {
        let mut running = adapter.run(context, stop);
        if let Poll::Ready(end) = poll_fn(|cx| Poll::Ready(running.as_mut().poll(cx))).await {
            return end;
        }
        // Whoever wanted to know is gone if it was stopped meanwhile.
        let _ = goes_on.send(());
        running.await
    });
    (holding, held_on)
}

/// Whoever ends as if asked to, and was not, has lost its connection: it waits before the next one.
fn unasked(end: End, stop: &watch::Receiver<bool>) -> End {
    match end {
        End::AsAsked if !*stop.borrow() => End::Lost("it ended without being asked to".into()),
        end => end,
    }
}

fn reason(ended: Result<End, tokio::task::JoinError>) -> End {
    ended.unwrap_or_else(|error| End::Lost(format!("its task failed: {error}").into()))
}

/// When to take over what an earlier holder of the lease has left under way: once none of it can
/// still be on its way out, counted from taking the lease, however often the worker was started
/// since. On SQLite the earlier holder is dead: there is one process to a file.
struct TakeOver {
    /// Nothing: it is done.
    at: Option<Instant>,
}

impl TakeOver {
    fn planned(shared: &Shared, connector: &Connector, held: &Held) -> Self {
        let timeout = Duration::from(connector.queue.attempt_timeout);
        let grace = shared.takeover_grace.unwrap_or(timeout + LAST_WORD);
        let at = match shared.db.engine() {
            EngineKind::Sqlite => held.since,
            EngineKind::Postgres => held.since + grace,
        };
        Self { at: Some(at) }
    }

    async fn try_now(&mut self, shared: &Shared, drain: &Drain) {
        if self.at.is_none_or(|at| at > Instant::now()) {
            return;
        }
        let (lease, id) = (&drain.lease, &drain.connector.id);
        self.at = match shared.outbox.recover(lease, drain.repeat, id).await {
            Ok(_) => None,
            Err(error) => {
                let error = describe(&error);
                tracing::warn!(connector = %id, error, "what was left under way waits to be taken over");
                Some(Instant::now() + super::LOOK_AT_LEAST_EVERY)
            }
        };
    }

    async fn due(&self) {
        match self.at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}
