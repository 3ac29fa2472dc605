//! The names of all figures, and those that are read off when somebody asks.

use std::sync::LazyLock;
use std::time::Duration;

use metrics::{
    Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use palyra_storage::StorageError;

use crate::app::App;

const HTTP_REQUESTS: &str = "palyra_http_requests_total";
const HTTP_SECONDS: &str = "palyra_http_request_seconds";
const AUTH_REFUSALS: &str = "palyra_auth_refusals_total";
const STARTED: &str = "palyra_start_time_seconds";
const READY: &str = "palyra_leases_healthy";

/// Seconds; what is slower than the last is one kind of slow.
const BUCKETS: [f64; 8] = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0];

/// How long the database may take to be counted in: whoever collects figures does not wait for long,
/// and needs those of the process most where it is away.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often histograms are summed up.
const UPKEEP: Duration = Duration::from_secs(60);

/// Collects the figures of this process from now on.
pub(crate) fn start() -> anyhow::Result<PrometheusHandle> {
    let handle = builder()?.install_recorder()?;
    describe_counter!(HTTP_REQUESTS, "Answered requests, by class of status");
    describe_histogram!(HTTP_SECONDS, "How long requests took");
    describe_counter!(AUTH_REFUSALS, "Credentials that were refused, by reason");
    describe_gauge!(STARTED, "When this process started");
    palyra_storage::metrics::describe();
    palyra_gateway::metrics::describe();
    palyra_connector_core::metrics::describe();
    describe_gauge!(READY, "1 while this node renews its leases");
    Ok(handle)
}

fn builder() -> anyhow::Result<PrometheusBuilder> {
    let seconds = Matcher::Suffix("_seconds".into());
    Ok(PrometheusBuilder::new().set_buckets_for_metric(seconds, &BUCKETS)?)
}

/// Of a collection in which nothing arrives: there is one per process, and several daemons in the
/// process of a test.
#[cfg(test)]
pub(crate) fn unused() -> PrometheusHandle {
    builder().unwrap().build_recorder().handle()
}

/// What is counted of every request, found once.
static ANSWERED: LazyLock<([Counter; 5], Histogram)> = LazyLock::new(|| {
    let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
    let counters = classes.map(|class| counter!(HTTP_REQUESTS, "class" => class));
    (counters, histogram!(HTTP_SECONDS))
});

/// Counts an answered request. Not before [`start`].
pub(crate) fn answered(status: u16, took: Duration) {
    let (counters, seconds) = &*ANSWERED;
    counters[usize::from((status / 100).clamp(1, 5) - 1)].increment(1);
    seconds.record(took.as_secs_f64());
}

/// Reads off what is counted elsewhere.
pub(crate) async fn observe(app: &App) {
    gauge!(STARTED).set(app.started_at.as_unix_millis() as f64 / 1_000.0);
    gauge!(READY).set(f64::from(u8::from(*app.leases_healthy.load())));
    for (reason, count) in app.identity.refusals().iter() {
        counter!(AUTH_REFUSALS, "reason" => reason.as_str()).absolute(count);
    }
    palyra_storage::metrics::observe(&app.db);
    match tokio::time::timeout(PATIENCE, stored(app)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let (code, error) = (error.code(), palyra_storage::describe(&error));
            tracing::warn!(%code, error, "runs and queues of channels could not be counted");
        }
        Err(_) => tracing::warn!("runs and queues of channels could not be counted in time"),
    }
    app.metrics.run_upkeep();
}

/// Counts runs, and the queues of channels.
async fn stored(app: &App) -> Result<(), StorageError> {
    palyra_gateway::metrics::observe(&app.db).await?;
    for connector in app.channels.connectors.list().await? {
        let queue = app.channels.outbox.view(&connector).await?;
        palyra_connector_core::metrics::observe(&connector.id, &queue, app.clock.now());
    }
    Ok(())
}

/// Sums up what histograms have taken in, which otherwise grows until somebody asks.
pub(crate) async fn keep_small(app: App, shutdown: impl Future<Output = ()>) {
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = tokio::time::sleep(UPKEEP) => app.metrics.run_upkeep(),
            () = &mut shutdown => return,
        }
    }
}
