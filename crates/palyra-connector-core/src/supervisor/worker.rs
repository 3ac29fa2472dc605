//! One connector at work.

use std::sync::Arc;
use std::time::Duration;

use palyra_storage::lease::Lease;
use palyra_storage::{EngineKind, describe};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::Shared;
use super::drain::Drain;
use crate::adapter::{AdapterContext, ConnectorAdapter, End};
use crate::store::connectors::Connector;

/// How long what was sent last may take to arrive.
const LAST_WORD: Duration = Duration::from_secs(1);

/// How long an adapter may take to end.
const GOODBYE: Duration = Duration::from_secs(5);

/// Runs the adapter of a connector and sends what is due through it, until it is asked to stop or
/// the adapter ends. What has been begun is settled before this returns.
pub(super) async fn run(
    shared: Arc<Shared>,
    connector: Arc<Connector>,
    lease: Lease,
    stop: watch::Receiver<bool>,
    wake: Arc<Notify>,
) -> End {
    let adapter = match shared.adapters.build(&connector) {
        Ok(adapter) => adapter,
        Err(reason) => return End::Misconfigured(reason.into()),
    };
    let _runs = Runs::here(&shared, &connector, &adapter);
    let (stop_adapter, adapter_stop) = watch::channel(false);
    let mut holding = hold(&shared, &connector, adapter.clone(), adapter_stop);
    let mut drain = Drain::new(shared.clone(), connector, adapter, lease);
    let mut end = None;
    let recovery = recover(&shared, &drain);
    tokio::pin!(recovery);
    let mut recovered = false;
    loop {
        let open = end.is_none() && !*stop.borrow();
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
            () = &mut recovery, if !recovered => recovered = true,
            ended = &mut holding, if end.is_none() => end = Some(reason(ended)),
            _ = stopped.wait_for(|stop| *stop), if open => {}
        }
        drain.write().await;
        if let Some(failed) = drain.auth_failed.take() {
            end.get_or_insert(End::AuthFailed(failed));
        }
    }
    stop_adapter.send_replace(true);
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

/// Says that a connector runs here for as long as it does.
struct Runs(Arc<Shared>, Arc<Connector>);

impl Runs {
    fn here(
        shared: &Arc<Shared>,
        connector: &Arc<Connector>,
        adapter: &Arc<dyn ConnectorAdapter>,
    ) -> Self {
        shared.statuses.runs(&connector.id, adapter.clone());
        Self(shared.clone(), connector.clone())
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.statuses.runs_no_more(&self.1.id);
    }
}

/// The connection, in a task of its own: whatever it does, what was begun is settled.
fn hold(
    shared: &Shared,
    connector: &Arc<Connector>,
    adapter: Arc<dyn ConnectorAdapter>,
    stop: watch::Receiver<bool>,
) -> JoinHandle<End> {
    let context = AdapterContext { connector: connector.clone(), inbound: shared.inbound.clone() };
    tokio::spawn(async move { adapter.run(context, stop).await })
}

fn reason(ended: Result<End, tokio::task::JoinError>) -> End {
    ended.unwrap_or_else(|error| End::Lost(format!("its task failed: {error}").into()))
}

/// Takes over what an earlier holder has left under way, once none of it can still be on its way
/// out. On SQLite the earlier holder is dead: there is one process to a file.
fn recover(shared: &Arc<Shared>, drain: &Drain) -> impl Future<Output = ()> + Send + use<> {
    let (shared, lease) = (shared.clone(), drain.lease.clone());
    let (id, repeat) = (drain.connector.id.clone(), drain.repeat);
    let timeout = Duration::from(drain.connector.queue.attempt_timeout);
    let grace = shared.takeover_grace.unwrap_or(timeout + LAST_WORD);
    async move {
        match shared.db.engine() {
            EngineKind::Sqlite => {}
            EngineKind::Postgres => tokio::time::sleep(grace).await,
        }
        while let Err(error) = shared.outbox.recover(&lease, repeat, &id).await {
            let error = describe(&error);
            tracing::warn!(connector = %id, error, "what was left under way waits to be taken over");
            tokio::time::sleep(super::LOOK_AT_LEAST_EVERY).await;
            if !shared.leases.holds(&lease) {
                return;
            }
        }
    }
}
