//! Bringing a Postgres database up to date, by one node at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_postgres::{Client, Error};

use super::connect::{Dial, Link};
use super::fault::{POSTGRES, classify};
use super::statements::PostgresStatements;
use crate::engine::EngineKind;
use crate::migrate::{Migration, SchemaState, failed, plan, render};
use crate::store::schema::{self, Table};
use crate::tx::Tx;
use crate::{StorageError, crash_point};

/// Spells "palyra" in ASCII: the advisory lock under which schemas are migrated.
const LOCK: i64 = 0x70_61_6c_79_72_61;
const LOCK_WAIT: Duration = Duration::from_secs(300);
pub(super) const LOCK_PAUSE: Duration = Duration::from_millis(100);
/// Building an index on a large table takes longer than any ordinary statement may. A node that has
/// lost its power says nothing more, and the server asks after it within a minute: otherwise it would
/// keep the lock for as long as the server's system keeps a connection, which is two hours.
pub(super) const PATIENCE: &str =
    "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
    SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3";
const TRY_LOCK: &str = "SELECT pg_try_advisory_lock($1)";

/// Carries out what is missing. The lock belongs to the session, so it ends with a node that is
/// killed. A server that is still starting is waited for.
pub(crate) fn migrate(
    runtime: &Runtime,
    dial: &Dial,
    migrations: &'static [Migration],
    patience: Duration,
) -> Result<(), StorageError> {
    let outcome = migrate_as_one(runtime, dial, migrations, patience);
    outcome.map_err(|error| error.at_server(dial.place().name()))
}

fn migrate_as_one(
    runtime: &Runtime,
    dial: &Dial,
    migrations: &'static [Migration],
    patience: Duration,
) -> Result<(), StorageError> {
    let mut link = first_link(runtime, dial, patience)?;
    runtime.block_on(link.client.batch_execute(PATIENCE)).map_err(fault)?;
    runtime.block_on(lock(&link.client))?;
    let state = transaction(runtime, &mut link, None, |tx| {
        if schema::look(tx)? == Table::Foreign {
            let (place, why) = (POSTGRES.to_owned(), schema::FOREIGN_SHAPE.to_owned());
            return Err(StorageError::Foreign { place, why });
        }
        schema::create(tx)?;
        schema::read(tx)
    })?;
    for step in plan(EngineKind::Postgres, state, migrations)? {
        tracing::info!(version = step.version, name = step.name, "migrating the database");
        let script = render(step, EngineKind::Postgres);
        transaction(runtime, &mut link, Some(&script), |tx| {
            crash_point!("migrate.inside_step");
            let (version, oldest_binary) = (step.version, step.oldest_binary);
            schema::set(tx, SchemaState { version, oldest_binary })
        })
        .map_err(|error| failed(step, error))?;
        crash_point!("migrate.after_step");
    }
    Ok(())
}

pub(super) fn first_link(
    runtime: &Runtime,
    dial: &Dial,
    patience: Duration,
) -> Result<Link, StorageError> {
    let deadline = Instant::now() + patience;
    loop {
        match runtime.block_on(dial.bare_link()) {
            Ok(link) => return Ok(link),
            Err(fault) if fault.again.is_some() && Instant::now() + LOCK_PAUSE < deadline => {
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(fault) => return Err(fault.error),
        }
    }
}

pub(super) async fn lock(client: &Client) -> Result<(), StorageError> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        let row = client.query_one(TRY_LOCK, &[&LOCK]).await.map_err(fault)?;
        if row.get(0) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let waited = std::io::Error::other("another node has been migrating for five minutes");
            return Err(StorageError::Busy(Arc::new(waited)));
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

fn transaction<T>(
    runtime: &Runtime,
    link: &mut Link,
    script: Option<&str>,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    runtime.block_on(link.client.batch_execute("BEGIN")).map_err(fault)?;
    let scripted = match script {
        Some(script) => runtime.block_on(link.client.batch_execute(script)).map_err(fault),
        None => Ok(()),
    };
    let outcome = scripted.and_then(|()| {
        let mut statements = PostgresStatements::at_once(runtime, &mut *link);
        work(&mut Tx::new(&mut statements))
    });
    let last = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = runtime.block_on(link.client.batch_execute(last)).map_err(fault);
    let value = outcome?;
    ended.map(|()| value)
}

fn fault(error: Error) -> StorageError {
    classify(error).error
}
