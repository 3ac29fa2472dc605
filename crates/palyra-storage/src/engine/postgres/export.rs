//! A consistent state of a Postgres database: a transaction that sees only what was committed
//! before it.

use futures_util::{TryStreamExt, pin_mut};
use tokio::runtime::Runtime;

use super::connect::{ANSWER_TIMEOUT, Dial, Link, answer};
use super::fault::classify;
use super::statements::PostgresStatements;
use crate::StorageError;
use crate::backup::BackupError;
use crate::engine::export::RowSink;
use crate::store::tables::Table;
use crate::tx::Tx;
use crate::value::{Param, Row};

/// A whole table takes longer than any ordinary statement may, and where it goes may be slow.
const PATIENCE: &str = "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0";
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(crate) struct PostgresSnapshot {
    // Before the runtime that drives it, so that it goes first.
    link: Link,
    runtime: Runtime,
}

impl PostgresSnapshot {
    pub(crate) fn open(dial: &Dial) -> Result<Self, StorageError> {
        let runtime = super::runtime()?;
        let link = runtime.block_on(dial.bare_link()).map_err(|fault| fault.error)?;
        for text in [PATIENCE, BEGIN] {
            let told = answer(ANSWER_TIMEOUT, link.client.batch_execute(text));
            runtime.block_on(told).map_err(|fault| fault.error)?;
        }
        Ok(Self { link, runtime })
    }

    pub(crate) fn read<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let Self { runtime, link } = self;
        let mut statements = PostgresStatements::at_once(runtime, link);
        work(&mut Tx::new(&mut statements))
    }

    pub(crate) fn rows(
        &mut self,
        table: &Table,
        sink: &mut dyn RowSink,
    ) -> Result<(), BackupError> {
        let Self { runtime, link } = self;
        let statement = runtime
            .block_on(answer(ANSWER_TIMEOUT, link.client.prepare(&table.select())))
            .map_err(|fault| fault.error)?;
        let columns: Vec<&str> = statement.columns().iter().map(|column| column.name()).collect();
        sink.columns(&columns)?;
        // The driver takes no more from the server than was asked for, and it runs only here.
        let rows = link.client.query_raw(&statement, [] as [Param<'_>; 0]);
        let rows = runtime.block_on(answer(ANSWER_TIMEOUT, rows)).map_err(|fault| fault.error)?;
        pin_mut!(rows);
        while let Some(row) =
            runtime.block_on(rows.try_next()).map_err(|error| classify(error).error)?
        {
            sink.row(&Row(&row))?;
        }
        Ok(())
    }
}
