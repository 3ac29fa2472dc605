//! Reader threads. Each owns a connection that sees one consistent state per unit.

use rusqlite::Connection;

use super::SqliteFile;
use super::connection::{classify, open_reader};
use super::statements::SqliteStatements;
use crate::StorageError;
use crate::engine::queue::SharedQueue;
use crate::tx::{Tx, fails_everything};
use crate::unit::{UnitOfWork, Verdict};

pub(crate) struct Reader {
    pub(crate) file: SqliteFile,
    pub(crate) connection: Option<Connection>,
    pub(crate) units: SharedQueue,
}

impl Reader {
    /// Works until the last handle is gone.
    pub(crate) fn run(mut self) {
        while let Some(unit) = self.units.take() {
            self.read(unit);
        }
    }

    fn read(&mut self, mut unit: Box<dyn UnitOfWork>) {
        let instead = match self.attempt(unit.as_mut()) {
            Ok(()) => None,
            Err(error) => {
                // The next unit starts on a fresh connection.
                self.connection = None;
                Some(error)
            }
        };
        unit.answer(instead);
    }

    fn attempt(&mut self, unit: &mut dyn UnitOfWork) -> Result<(), StorageError> {
        let connection: &Connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(open_reader(&self.file)?),
        };
        let path = self.file.path();
        let run = |text| -> Result<(), StorageError> {
            let run = connection.prepare_cached(text).and_then(|mut text| text.execute([]));
            run.map(drop).map_err(|error| classify(error, path))
        };
        run("BEGIN DEFERRED")?;
        let mut statements = SqliteStatements::new(connection, path);
        let mut tx = Tx::new(&mut statements);
        match unit.run(&mut tx) {
            Verdict::Keep(_) => {}
            Verdict::Undo => {
                if let Some(error) = tx.spoilt().filter(|error| fails_everything(error)) {
                    return Err(error.clone());
                }
            }
        }
        run("COMMIT")
    }
}
