//! Reading whole tables from one consistent state, on a connection of its own: nobody waits for a
//! long export, and it waits for nobody.

use crate::StorageError;
use crate::backup::BackupError;
use crate::engine::postgres::connect::Dial;
use crate::engine::postgres::export::PostgresSnapshot;
use crate::engine::sqlite::SqliteFile;
use crate::engine::sqlite::export::SqliteSnapshot;
use crate::store::tables::Table;
use crate::tx::Tx;
use crate::value::Row;

/// Where the database of an open handle is.
#[derive(Clone)]
pub(crate) enum Origin {
    Sqlite(SqliteFile),
    Postgres(Box<Dial>),
}

/// Takes the rows of a table, one at a time.
pub(crate) trait RowSink {
    /// Comes first, also for a table without rows.
    fn columns(&mut self, names: &[&str]) -> Result<(), BackupError>;
    fn row(&mut self, row: &Row<'_>) -> Result<(), BackupError>;
}

/// One state of the database, for as long as this value lives.
pub(crate) enum Snapshot {
    Sqlite(SqliteSnapshot),
    Postgres(Box<PostgresSnapshot>),
}

impl Snapshot {
    /// Blocks, as everything here does.
    pub(crate) fn open(origin: &Origin) -> Result<Self, StorageError> {
        match origin {
            Origin::Sqlite(file) => SqliteSnapshot::open(file).map(Snapshot::Sqlite),
            Origin::Postgres(dial) => {
                PostgresSnapshot::open(dial).map(|open| Snapshot::Postgres(Box::new(open)))
            }
        }
    }

    /// Reads something small.
    pub(crate) fn read<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        match self {
            Snapshot::Sqlite(snapshot) => snapshot.read(work),
            Snapshot::Postgres(snapshot) => snapshot.read(work),
        }
    }

    /// Reads a whole table, row by row.
    pub(crate) fn rows(
        &mut self,
        table: &Table,
        sink: &mut dyn RowSink,
    ) -> Result<(), BackupError> {
        match self {
            Snapshot::Sqlite(snapshot) => snapshot.rows(table, sink),
            Snapshot::Postgres(snapshot) => snapshot.rows(table, sink),
        }
    }
}
