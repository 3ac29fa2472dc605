//! The one crate that opens a database.
//!
//! A transaction is a closure: [`Database::write`] and [`Database::read`] run it against a
//! [`Tx`], on SQLite or on Postgres, with the same meaning. Statements are constants made by
//! [`sql!`], written once for both. Everything that must survive a crash is a row written here;
//! `ARCHITECTURE.md` tells how the parts fit.

#![warn(missing_docs)]

pub mod approval;
pub mod backup;
pub mod blob;
pub mod events;
pub mod journal;
pub mod lease;
pub mod metrics;
pub mod once;
pub mod retention;

mod clock;
mod config;
mod crash;
mod database;
mod engine;
mod error;
mod migrate;
mod notify;
mod private;
mod sql;
mod store;
mod tx;
mod unit;
mod value;

pub use clock::{SystemClock, new_id};
pub use config::{StorageConfig, StorageUrl};
#[cfg(feature = "crash-points")]
#[doc(hidden)]
pub use crash::crash_point_reached;
pub use database::{DATABASE_FILE, Database, OpenOptions, SchemaFound, Survey};
pub use engine::EngineKind;
pub use engine::postgres::version::ServerVersion;
pub use error::{Cause, StorageError, describe};
pub use journal::JournalStore;
pub use migrate::{MIGRATIONS, Migration, SCHEMA_VERSION, SchemaState};
pub use notify::{Subscription, Topic};
pub use sql::Sql;
#[doc(hidden)]
pub use sql::number_placeholders;
pub use tx::Tx;
pub use value::{Column, FromColumn, Param, Row, text};
