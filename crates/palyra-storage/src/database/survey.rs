//! Asking a Postgres server about itself before anything is opened on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use palyra_common::time::Clock;

use super::Database;
use super::open::{OpenOptions, join};
use crate::StorageError;
use crate::engine::EngineKind;
use crate::engine::export::{Origin, Snapshot};
use crate::engine::postgres::connect::Dial;
use crate::engine::postgres::version::ServerVersion;
use crate::lease::{LeaseName, Leases};
use crate::migrate::plan;
use crate::store::schema::{self, FOREIGN_SHAPE, Table};

/// How often the way there and back is measured. The shortest counts: it is the way, and not a busy
/// moment.
const TRIPS: usize = 3;

/// What a Postgres server tells of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Survey {
    /// It is older than [`ServerVersion::OLDEST`], so it was asked nothing else.
    TooOld(ServerVersion),
    /// It can be used.
    Usable {
        /// Its version.
        version: ServerVersion,
        /// How long one question takes, there and back.
        round_trip: Duration,
        /// What is in the database.
        schema: SchemaFound,
    },
}

/// The schema of a database that a start may have to bring up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaFound {
    /// There is none yet.
    Absent,
    /// One that a start migrates.
    Older {
        /// Its version.
        version: i64,
    },
    /// One that this program works with as it is.
    Current {
        /// Its version.
        version: i64,
    },
}

impl Database {
    /// Asks the server that `options` name; None where that is none, but SQLite. Nothing is
    /// written. A database that a start would refuse is refused.
    pub async fn survey(options: OpenOptions) -> Result<Option<Survey>, StorageError> {
        blocking(move || survey(&options)).await
    }

    /// Takes a lease that nobody else can want, renews it and gives it back; says how long that
    /// took. For a server whose schema is [`SchemaFound::Current`]: nothing is migrated.
    pub async fn try_lease(
        options: OpenOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Duration, StorageError> {
        let ttl = options.config.lease_ttl;
        let db = blocking(move || join(&options)).await?;
        let tried = lease_round_trip(&Leases::new(db.clone(), clock, ttl), &db).await;
        db.close().await;
        tried
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, StorageError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(StorageError::internal("asking the database panicked")))
}

fn survey(options: &OpenOptions) -> Result<Option<Survey>, StorageError> {
    let Some(server) = options.config.url.server()? else { return Ok(None) };
    let dial = Dial::new(server);
    let mut snapshot = match Snapshot::open(&Origin::Postgres(Box::new(dial))) {
        Ok(snapshot) => snapshot,
        Err(StorageError::ServerTooOld { version, .. }) => {
            return Ok(Some(Survey::TooOld(version)));
        }
        Err(error) => return Err(error),
    };
    let version = ServerVersion::from(snapshot.read(schema::engine_version)?);
    let mut round_trip = Duration::MAX;
    for _ in 0..TRIPS {
        let began = Instant::now();
        // Prepared by now, so this is one trip.
        snapshot.read(schema::engine_version)?;
        round_trip = round_trip.min(began.elapsed());
    }
    let schema = found(&mut snapshot, options)?;
    Ok(Some(Survey::Usable { version, round_trip, schema }))
}

fn found(snapshot: &mut Snapshot, options: &OpenOptions) -> Result<SchemaFound, StorageError> {
    let state = match snapshot.read(schema::look)? {
        Table::Absent => return Ok(SchemaFound::Absent),
        Table::Foreign => {
            let place = "the database that storage.url names".to_owned();
            return Err(StorageError::Foreign { place, why: FOREIGN_SHAPE.to_owned() });
        }
        Table::Ours => snapshot.read(schema::read)?,
    };
    let version = state.version;
    Ok(match plan(EngineKind::Postgres, state, options.migrations)? {
        [] => SchemaFound::Current { version },
        [..] => SchemaFound::Older { version },
    })
}

async fn lease_round_trip(leases: &Leases, db: &Database) -> Result<Duration, StorageError> {
    let name = LeaseName::new(format!("preflight:{}", db.incarnation()));
    let began = Instant::now();
    let Some(lease) = leases.try_take(&name).await? else {
        return Err(StorageError::internal(format!("the lease {name} was held, by nobody")));
    };
    leases.prolong(&lease).await?;
    leases.release(lease).await?;
    Ok(began.elapsed())
}
