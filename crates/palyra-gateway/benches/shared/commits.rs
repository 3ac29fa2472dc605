//! Counts commits, as whoever watches a daemon would.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use palyra_storage::metrics::COMMIT_SECONDS;

static COMMITS: AtomicU64 = AtomicU64::new(0);

/// As many as there were in this process since [`count`].
pub(crate) fn counted() -> u64 {
    COMMITS.load(Ordering::SeqCst)
}

/// From now on.
pub(crate) fn count() {
    metrics::set_global_recorder(Commits).unwrap();
}

/// Each is told by how long it took.
struct Commits;

impl HistogramFn for Commits {
    fn record(&self, _: f64) {
        COMMITS.fetch_add(1, Ordering::SeqCst);
    }
}

impl Recorder for Commits {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        match key.name() == COMMIT_SECONDS {
            true => Histogram::from_arc(Arc::new(Self)),
            false => Histogram::noop(),
        }
    }
}
