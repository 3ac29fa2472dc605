//! What the Postgres server is asked before a start.

use std::path::Path;
use std::sync::Arc;

use palyra_common::StableErrorEnvelope;
use palyra_common::api::{Check, CheckState};
use palyra_common::deployment_profiles::PreflightCheck;
use palyra_storage::{
    Database, MIGRATIONS, OpenOptions, SCHEMA_VERSION, SchemaFound, ServerVersion, StorageError,
    Survey, SystemClock,
};

use super::{LIMIT, in_time, milliseconds, silence};
use crate::config::Config;
use crate::doctor::{advised, check};

/// The oldest that Palyra's own tests run on.
const TESTED_FROM: (u32, u32) = (15, 0);
/// Each message costs several trips, so a longer one is felt.
const SLOW_TRIP_MS: u128 = 50;

const NAME_A_SERVER: &str = "Set storage.url to a Postgres that all nodes share.";

/// What asking the server has brought.
pub(super) enum Server {
    /// There is none: this is SQLite.
    NotNamed,
    Told(Survey),
    Failed(StableErrorEnvelope),
}

pub(super) async fn ask(config: &Config, data_dir: &Path) -> Server {
    match in_time(Database::survey(options(config, data_dir))).await {
        Some(Ok(Some(survey))) => Server::Told(survey),
        Some(Ok(None)) => Server::NotNamed,
        Some(Err(error)) => Server::Failed(error.envelope()),
        None => Server::Failed(StorageError::Unavailable(silence()).envelope()),
    }
}

fn options(config: &Config, data_dir: &Path) -> OpenOptions {
    let (data_dir, config) = (data_dir.to_owned(), config.storage.clone());
    OpenOptions { data_dir, config, migrations: MIGRATIONS }
}

impl Server {
    /// Whether a start would take the database. None on SQLite, whose file is looked at.
    pub(super) fn database(&self) -> Option<Check> {
        let name = "database";
        Some(match self {
            Server::NotNamed => return None,
            Server::Failed(envelope) => failed(name, envelope),
            Server::Told(Survey::TooOld(_)) => {
                check(name, CheckState::Skipped, "not asked: the server is too old")
            }
            Server::Told(Survey::Usable { schema, .. }) => match schema {
                SchemaFound::Absent => {
                    check(name, CheckState::Skipped, "there is no schema yet; a start makes it")
                }
                SchemaFound::Older { version } => {
                    let seen =
                        format!("it has schema {version}; a start brings it to {SCHEMA_VERSION}");
                    check(name, CheckState::Ok, seen)
                }
                SchemaFound::Current { version } => check(
                    name,
                    CheckState::Ok,
                    format!("it has schema {version}, which is current"),
                ),
            },
        })
    }

    pub(super) fn version(&self) -> Check {
        let name = PreflightCheck::PostgresVersion.as_str();
        match self {
            Server::NotNamed => {
                let seen = "storage.url is empty, so this is SQLite";
                advised(check(name, CheckState::Failed, seen), NAME_A_SERVER)
            }
            Server::Failed(envelope) => failed(name, envelope),
            Server::Told(Survey::TooOld(version)) => {
                let (major, minor) = ServerVersion::OLDEST;
                let seen = format!("Postgres {version}, and Palyra needs {major}.{minor} or newer");
                advised(check(name, CheckState::Failed, seen), "Upgrade the server.")
            }
            Server::Told(Survey::Usable { version, .. }) => {
                let seen = format!("Postgres {version}");
                if !version.is_older_than(TESTED_FROM) {
                    return check(name, CheckState::Ok, seen);
                }
                let advice = format!("Palyra is tested on {} and newer.", TESTED_FROM.0);
                advised(check(name, CheckState::Warning, seen), advice)
            }
        }
    }

    pub(super) fn latency(&self) -> Check {
        let name = PreflightCheck::PostgresLatency.as_str();
        let Server::Told(Survey::Usable { round_trip, .. }) = self else {
            return check(name, CheckState::Skipped, "not measured: there is no server to use");
        };
        let seen = format!("one question takes {} there and back", milliseconds(*round_trip));
        if round_trip.as_millis() <= SLOW_TRIP_MS {
            return check(name, CheckState::Ok, seen);
        }
        let advice = "Bring the nodes and the server closer together, or look whether it is busy.";
        advised(check(name, CheckState::Warning, seen), advice)
    }

    /// Only where the schema is current: a preflight changes none.
    pub(super) async fn lease(&self, config: &Config, data_dir: &Path) -> Check {
        let name = PreflightCheck::LeaseRoundTrip.as_str();
        let skipped = |why: &str| check(name, CheckState::Skipped, why);
        match self {
            Server::NotNamed | Server::Failed(_) | Server::Told(Survey::TooOld(_)) => {
                skipped("not tried: there is no server to use")
            }
            Server::Told(Survey::Usable { schema: SchemaFound::Absent, .. }) => {
                skipped("not tried: the database has no schema until a start makes it")
            }
            Server::Told(Survey::Usable { schema: SchemaFound::Older { .. }, .. }) => {
                skipped("not tried: the database has an older schema until a start migrates it")
            }
            Server::Told(Survey::Usable { schema: SchemaFound::Current { .. }, .. }) => {
                try_lease(name, options(config, data_dir)).await
            }
        }
    }
}

async fn try_lease(name: &str, mut options: OpenOptions) -> Check {
    // It is one worker with one question, which has no longer than the check.
    (options.config.connections, options.config.readers) = (1, 1);
    options.config.retry_for = LIMIT.into();
    match in_time(Database::try_lease(options, Arc::new(SystemClock))).await {
        Some(Ok(took)) => {
            let seen = format!("taken, renewed and given back in {}", milliseconds(took));
            check(name, CheckState::Ok, seen)
        }
        Some(Err(error)) => failed(name, &error.envelope()),
        None => failed(name, &StorageError::Unavailable(silence()).envelope()),
    }
}

fn failed(name: &str, envelope: &StableErrorEnvelope) -> Check {
    let failed = check(name, CheckState::Failed, envelope.to_string());
    advised(failed, envelope.recovery_hint())
}
