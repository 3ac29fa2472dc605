//! From start to stop.

mod node;
mod stop;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use palyra_common::time::{Clock, Duration};
use palyra_storage::blob::BlobStore;
use palyra_storage::journal::JournalEvent;
use palyra_storage::lease::{LeaseKeeper, Leases};
use palyra_storage::retention::{Sweeper, ground_rules};
use palyra_storage::{
    Database, MIGRATIONS, OpenOptions, StorageConfig, StorageError, SystemClock, new_id,
};
use stop::Stop;
use tokio::sync::watch;

use crate::config;
use crate::failure::Failure;
use crate::flags::Flags;

/// How often old rows are looked for.
const SWEEP_EVERY: Duration = Duration::from_mins(10);

/// Runs until told to stop.
pub(crate) async fn serve(flags: &Flags) -> Result<(), Failure> {
    // Listen first: a signal that comes during the start is not lost.
    let mut stop = Stop::listen().map_err(|error| Failure::Startup(error.into()))?;
    let data_dir = flags.data_dir().ok_or(Failure::NoDataDir)?;
    let config = config::load(flags, &data_dir)?.storage;
    let options =
        OpenOptions { data_dir: data_dir.clone(), config: config.clone(), migrations: MIGRATIONS };
    let db = tokio::select! {
        opened = Database::open(options) => opened?,
        // What opening has begun is made good by the next start, as after a crash.
        reason = stop.reason() => {
            tracing::info!(reason, "stopping before the database is open");
            return Ok(());
        }
    };
    let (ask, asked) = watch::channel(None);
    tokio::select! {
        ended = work(&db, &config, &data_dir, asked) => ended,
        () = stop.twice(ask) => Err(Failure::AskedTwice),
    }
}

/// Starts the services, waits for a reason to stop, and stops them.
async fn work(
    db: &Database,
    config: &StorageConfig,
    data_dir: &Path,
    asked: watch::Receiver<Option<&'static str>>,
) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let blobs = BlobStore::open(db.clone(), clock.clone(), config, data_dir)?;
    record(db, "daemon.started").await?;

    let leases = Leases::new(db.clone(), clock.clone(), config.lease_ttl);
    let (keeper, node) = LeaseKeeper::new(db.clone(), leases.clone());
    let rules = ground_rules(db.engine());
    let sweeper = Sweeper::new(db.clone(), leases, clock, rules, SWEEP_EVERY).with_blobs(blobs);
    let (stopping, stopped) = watch::channel(false);
    let keeping = tokio::spawn(keeper.run(until(stopped.clone())));
    let sweeping = tokio::spawn(sweeper.run(until(stopped)));
    announce(db, data_dir).await?;

    let reason = tokio::select! {
        reason = stop::asked(asked) => Ok(reason),
        reason = node::must_stop(node) => reason,
    };
    tracing::info!(reason = reason.as_ref().map_or("a service has ended", |told| told), "stopping");
    stopping.send_replace(true);
    for task in [keeping, sweeping] {
        if let Err(error) = task.await {
            tracing::error!(%error, "a service did not end well");
        }
    }
    record(db, "daemon.stopped").await?;
    db.close().await;
    reason.map(drop)
}

/// The line that whoever started us waits for.
async fn announce(db: &Database, data_dir: &Path) -> Result<(), StorageError> {
    let (engine, schema) = (db.engine().as_str(), db.schema().await?.version);
    let line =
        format!("palyrad is ready: {engine}, schema {schema}, data in {}\n", data_dir.display());
    // A closed standard output is no reason not to work.
    let _ = std::io::stdout().write_all(line.as_bytes());
    Ok(())
}

async fn record(db: &Database, action: &'static str) -> Result<(), StorageError> {
    let node = db.incarnation();
    let event = JournalEvent {
        id: new_id(),
        at: SystemClock.now(),
        actor: "system".into(),
        action: action.into(),
        subject: format!("node:{node}"),
        origin: "palyrad".into(),
        outcome: "ok".into(),
        detail: "{}".into(),
        content: None,
    };
    db.write(move |tx| {
        tx.record(event.clone());
        Ok(())
    })
    .await
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a stop as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
