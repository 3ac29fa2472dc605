//! A new Postgres database, in one transaction.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::try_join_all;
use palyra_common::ids::{EventId, IncarnationId};
use tokio::runtime::Runtime;
use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;

use super::connect::{ANSWER_TIMEOUT, Dial, Link, answer};
use super::fault::{Again, classify};
use super::marks::Slot;
use super::migrate::{LOCK_PAUSE, PATIENCE, first_link, lock};
use super::statements::PostgresStatements;
use crate::backup::Value;
use crate::clock::new_id;
use crate::engine::EngineKind;
use crate::engine::load::Unfinished;
use crate::migrate::{Migration, SchemaState, failed, render};
use crate::store::{schema, tables};
use crate::tx::Tx;
use crate::{StorageError, crash_point};

/// A COMMIT that never arrives is not waited for as long as the network lets it: the server ends the
/// transaction, and then it can be learnt what became of it.
const HASTE: &str = "SET LOCAL idle_in_transaction_session_timeout = '10s'";
/// Refused by a server that follows another, which does not know yet what that one has committed.
const LEADS: &str = "BEGIN READ WRITE; ROLLBACK";

pub(crate) struct PostgresLoader {
    // Before the runtime that drives it, so that it goes first.
    link: Link,
    runtime: Runtime,
    inserts: HashMap<&'static str, Statement>,
    dial: Dial,
    /// How long the server is waited for.
    patience: Duration,
}

impl PostgresLoader {
    /// Nodes that start meanwhile wait for the lock under which schemas are migrated.
    pub(crate) fn begin(
        dial: &Dial,
        patience: Duration,
        migrations: &'static [Migration],
    ) -> Result<Option<Self>, StorageError> {
        let runtime = super::runtime()?;
        let link = first_link(&runtime, dial, patience)?;
        let (inserts, dial) = (HashMap::new(), dial.clone());
        let mut loader = Self { link, runtime, inserts, dial, patience };
        loader.run(PATIENCE)?;
        loader.runtime.block_on(lock(&loader.link.client))?;
        loader.run("BEGIN")?;
        if !loader.write(tables::catalog)?.is_empty() {
            return Ok(None);
        }
        loader.write(schema::create)?;
        for step in migrations {
            let Migration { version, oldest_binary, .. } = *step;
            loader
                .run(&render(step, EngineKind::Postgres))
                .and_then(|()| {
                    loader.write(|tx| schema::set(tx, SchemaState { version, oldest_binary }))
                })
                .map_err(|error| failed(step, error))?;
        }
        Ok(Some(loader))
    }

    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let Self { runtime, link, .. } = self;
        let mut statements = PostgresStatements::at_once(runtime, link);
        work(&mut Tx::new(&mut statements))
    }

    pub(crate) fn open_table(
        &mut self,
        table: &tables::Table,
    ) -> Result<Vec<String>, StorageError> {
        self.run(&table.clear())?;
        let statement = self.prepare(&table.select())?;
        Ok(statement.columns().iter().map(|column| column.name().to_owned()).collect())
    }

    /// All rows travel together: one round trip for as many as there are.
    pub(crate) fn insert(
        &mut self,
        table: &tables::Table,
        columns: &[String],
        rows: &[Vec<Value>],
    ) -> Result<(), StorageError> {
        let statement = match self.inserts.get(table.name) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.prepare(&table.insert(columns, '$'))?;
                self.inserts.insert(table.name, statement.clone());
                statement
            }
        };
        let client = &self.link.client;
        let added = try_join_all(rows.iter().map(|row| {
            let params: Vec<_> = row.iter().map(Value::as_param).collect();
            let statement = &statement;
            async move { client.execute_raw(statement, params).await }
        }));
        self.runtime.block_on(added).map(drop).map_err(|error| classify(error).error)
    }

    pub(crate) fn finish(self) -> Result<(), Unfinished> {
        let Self { runtime, link, dial, patience, .. } = self;
        let opening = async {
            answer(ANSWER_TIMEOUT, link.client.batch_execute(HASTE)).await?;
            let node = new_id::<IncarnationId>();
            answer(ANSWER_TIMEOUT, Slot::open(&link.client, node)).await
        };
        let slot = runtime.block_on(opening).map_err(|fault| Unfinished::NotThere(fault.error))?;
        let unit = new_id::<EventId>().to_string();
        crash_point!("restore.before_commit");
        let committing = async { answer(ANSWER_TIMEOUT, slot.commit(&link.client, &unit)).await };
        let committed = runtime.block_on(committing);
        crash_point!("restore.after_commit");
        let lost = match committed {
            Ok(()) => {
                // A row that stays is swept some day.
                let closing = async { answer(ANSWER_TIMEOUT, slot.close(&link.client)).await };
                let _ = runtime.block_on(closing);
                return Ok(());
            }
            Err(fault) if fault.again == Some(Again::Reconnect) => fault.at(dial.place()).error,
            Err(fault) => return Err(Unfinished::NotThere(fault.error)),
        };
        drop(link);
        let settling = async { tokio::time::timeout(patience, settle(&dial, &slot, &unit)).await };
        match runtime.block_on(settling) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Unfinished::NotThere(lost)),
            Err(_) => Err(Unfinished::may_be_there(lost)),
        }
    }

    fn run(&self, text: &str) -> Result<(), StorageError> {
        let run = self.link.client.batch_execute(text);
        self.runtime.block_on(run).map_err(|error| classify(error).error)
    }

    fn prepare(&self, text: &str) -> Result<Statement, StorageError> {
        let prepared = self.link.client.prepare(text);
        self.runtime.block_on(prepared).map_err(|error| classify(error).error)
    }
}

/// The connection broke during COMMIT: asks new ones, until one knows, whether the database is there.
async fn settle(dial: &Dial, slot: &Slot, unit: &str) -> bool {
    loop {
        match is_there(dial, slot, unit).await {
            Ok(there) => return there,
            Err(_) => tokio::time::sleep(LOCK_PAUSE).await,
        }
    }
}

/// The lock is the lost session's until that has ended, and with it its transaction, so the answer is
/// final. Whoever had the lock in between has made another database, without the mark.
async fn is_there(dial: &Dial, slot: &Slot, unit: &str) -> Result<bool, StorageError> {
    let link = dial.bare_link().await.map_err(|fault| fault.error)?;
    lock(&link.client).await?;
    link.client.batch_execute(LEADS).await.map_err(|error| classify(error).error)?;
    match slot.holds(&link.client, unit).await {
        Ok(there) => Ok(there),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(false),
        Err(error) => Err(classify(error).error),
    }
}
