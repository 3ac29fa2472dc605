//! A new Postgres database, in one transaction.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::runtime::Runtime;
use tokio_postgres::Statement;

use super::connect::{Dial, Link};
use super::fault::classify;
use super::migrate::{PATIENCE, first_link, lock};
use super::statements::PostgresStatements;
use crate::backup::Value;
use crate::engine::EngineKind;
use crate::migrate::{Migration, SchemaState, failed, render};
use crate::store::{schema, tables};
use crate::tx::Tx;
use crate::{StorageError, crash_point};

pub(crate) struct PostgresLoader {
    // Before the runtime that drives it, so that it goes first.
    link: Link,
    runtime: Runtime,
    inserts: HashMap<&'static str, Statement>,
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
        let mut loader = Self { link, runtime, inserts: HashMap::new() };
        loader.run(PATIENCE)?;
        loader.runtime.block_on(lock(&loader.link.client))?;
        loader.run("BEGIN")?;
        if !loader.write(tables::catalog)?.is_empty() {
            return Ok(None);
        }
        loader.write(schema::create)?;
        for step in migrations {
            let SchemaState { version, oldest_binary } =
                SchemaState { version: step.version, oldest_binary: step.oldest_binary };
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
        let mut statements = PostgresStatements { runtime, link, opening: None, again: None };
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

    pub(crate) fn finish(self) -> Result<(), StorageError> {
        crash_point!("restore.before_commit");
        self.run("COMMIT")?;
        crash_point!("restore.after_commit");
        Ok(())
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
