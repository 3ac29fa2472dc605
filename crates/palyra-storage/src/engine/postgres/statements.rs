//! Statements of a transaction on a Postgres connection.

use std::error::Error;

use bytes::BytesMut;
use futures_util::future::{join, ready};
use futures_util::{StreamExt, TryStreamExt, pin_mut, stream};
use palyra_common::time::Timestamp;
use tokio::runtime::Runtime;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};

use super::connect::{ANSWER_TIMEOUT, Link, answer};
use super::fault::{Again, Fault};
use crate::tx::{SavepointStep, Statements};
use crate::value::{Column, Columns, Param, Row};
use crate::{Sql, StorageError, params, sql};

const CLOCK: Sql = sql!("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)");

/// Statements that are sent before the answer to the first is there.
const IN_FLIGHT: usize = 64;

/// A statement that is sent with the next one.
pub(super) struct Kept {
    statement: Statement,
    params: Vec<Param<'static>>,
}

/// Sends them in their order, before anything that is sent once this was polled: there are never more
/// than may be in flight.
pub(super) async fn send_all(client: &Client, kept: &[Kept]) -> Result<(), tokio_postgres::Error> {
    let each = kept.iter().map(|kept| client.execute_raw(&kept.statement, &kept.params));
    stream::iter(each).buffered(IN_FLIGHT).try_for_each(|_| ready(Ok(()))).await
}

pub(super) struct PostgresStatements<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) link: &'a mut Link,
    /// The statement that opens the transaction. It travels together with the first statement
    /// of the unit: one round trip less.
    pub(super) opening: Option<&'static str>,
    /// Set when the unit should be run again.
    pub(super) again: Option<Again>,
    /// What is kept back, by one who sends it at the end.
    pub(super) kept: Option<Vec<Kept>>,
}

impl<'a> PostgresStatements<'a> {
    /// Statements of a transaction that is open. Nothing is kept back.
    pub(super) fn at_once(runtime: &'a Runtime, link: &'a mut Link) -> Self {
        Self { runtime, link, opening: None, again: None, kept: None }
    }

    fn fault(&mut self, fault: Fault) -> StorageError {
        self.again = self.again.or(fault.again);
        fault.at(&self.link.place).error
    }

    /// Opens the transaction if it is not open yet, and runs what is kept back and `work` behind it in
    /// the same trip.
    fn send<T>(
        &mut self,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StorageError> {
        let client = &self.link.client;
        let kept = self.kept.as_mut().map(std::mem::take).unwrap_or_default();
        let outcome = match self.opening.take() {
            Some(opening) => self.runtime.block_on(answer(ANSWER_TIMEOUT, async {
                let (opened, done) = join(client.batch_execute(opening), work(client)).await;
                opened.and(done)
            })),
            None if kept.is_empty() => self.runtime.block_on(answer(ANSWER_TIMEOUT, work(client))),
            None => self.runtime.block_on(answer(ANSWER_TIMEOUT, async {
                let (sent, done) = join(send_all(client, &kept), work(client)).await;
                sent.and(done)
            })),
        };
        outcome.map_err(|fault| self.fault(fault))
    }

    fn prepared(&mut self, sql: &Sql) -> Result<Statement, StorageError> {
        if let Some(statement) = self.link.statements.get(sql.postgres) {
            return Ok(statement.clone());
        }
        let preparing = answer(ANSWER_TIMEOUT, self.link.client.prepare(sql.postgres));
        let prepared = self.runtime.block_on(preparing);
        let statement = prepared.map_err(|fault| self.fault(fault))?;
        self.link.statements.insert(sql.postgres, statement.clone());
        Ok(statement)
    }
}

impl Statements for PostgresStatements<'_> {
    fn execute(&mut self, sql: &Sql, params: &[Param<'_>]) -> Result<u64, StorageError> {
        let statement = self.prepared(sql)?;
        check_count(&statement, params)?;
        self.send(async |client| client.execute_raw(&statement, params).await)
    }

    fn execute_many(&mut self, sql: &Sql, sets: &[&[Param<'_>]]) -> Result<Vec<u64>, StorageError> {
        let Some((first, rest)) = sets.split_first() else { return Ok(Vec::new()) };
        let is_first = self.opening.is_some() || self.kept.as_ref().is_some_and(|k| !k.is_empty());
        let (mut changed, rest) = match is_first {
            true => (vec![self.execute(sql, first)?], rest),
            false => (Vec::new(), sets),
        };
        let statement = self.prepared(sql)?;
        rest.iter().try_for_each(|params| check_count(&statement, params))?;
        let (client, runtime) = (&self.link.client, self.runtime);
        let each = rest.iter().map(|params| client.execute_raw(&statement, *params));
        let mut answers = stream::iter(each).buffered(IN_FLIGHT);
        // Each answer has its time: one may wait for a lock, and the next for another.
        let fault = loop {
            match runtime.block_on(answer(ANSWER_TIMEOUT, answers.try_next())) {
                Ok(Some(rows)) => changed.push(rows),
                Ok(None) => return Ok(changed),
                Err(fault) => break fault,
            }
        };
        drop(answers);
        Err(self.fault(fault))
    }

    fn execute_later(&mut self, sql: &Sql, params: &[Param<'_>]) -> Result<(), StorageError> {
        let is_open = self.opening.is_none();
        if !self.kept.as_ref().is_some_and(|kept| is_open && kept.len() < IN_FLIGHT) {
            return self.execute(sql, params).map(drop);
        }
        let statement = self.prepared(sql)?;
        check_count(&statement, params)?;
        let params = params.iter().map(Param::kept).collect();
        self.kept.get_or_insert_default().push(Kept { statement, params });
        Ok(())
    }

    fn send_kept(&mut self) -> Result<(), StorageError> {
        match self.kept.as_ref().is_none_or(Vec::is_empty) {
            true => Ok(()),
            false => self.send(async |_| Ok(())),
        }
    }

    fn query(
        &mut self,
        sql: &Sql,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&Row<'_>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let statement = self.prepared(sql)?;
        check_count(&statement, params)?;
        let rows = self.send(async |client| {
            let rows = client.query_raw(&statement, params).await?;
            pin_mut!(rows);
            let mut all = Vec::new();
            while let Some(row) = rows.try_next().await? {
                all.push(row);
            }
            Ok(all)
        })?;
        rows.iter().try_for_each(|row| each(&Row(row)))
    }

    fn savepoint(&mut self, step: SavepointStep) -> Result<(), StorageError> {
        if step == SavepointStep::Undo {
            // What was kept back before it has been sent.
            self.kept.iter_mut().for_each(Vec::clear);
        }
        let text = match step {
            SavepointStep::Open => "SAVEPOINT part",
            SavepointStep::Keep => "RELEASE part",
            SavepointStep::Undo => "ROLLBACK TO part; RELEASE part",
        };
        self.send(async |client| client.batch_execute(text).await)
    }

    fn lease_time(&mut self, _told: Timestamp) -> Result<Timestamp, StorageError> {
        let mut now = None;
        self.query(&CLOCK, params![], &mut |row| {
            now = Some(row.get(0)?);
            Ok(())
        })?;
        now.ok_or_else(|| StorageError::internal("the database has no clock"))
    }
}

/// The driver panics on a wrong number of parameters.
fn check_count(statement: &Statement, params: &[Param<'_>]) -> Result<(), StorageError> {
    let expected = statement.params().len();
    if expected == params.len() {
        Ok(())
    } else {
        Err(StorageError::internal(format!(
            "a statement with {expected} parameters was given {}",
            params.len()
        )))
    }
}

/// A parameter does not fit the column that Postgres wants to put it into.
#[derive(Debug, thiserror::Error)]
#[error("a parameter does not fit the type {0}")]
pub(super) struct WrongShape(Type);

impl ToSql for Param<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self, ty) {
            (Param::Null, _) => Ok(IsNull::Yes),
            (Param::Int(value), &Type::INT8) => value.to_sql(ty, out),
            (Param::Int(value), &Type::INT4) => i32::try_from(*value)?.to_sql(ty, out),
            (Param::Real(value), &Type::FLOAT8) => value.to_sql(ty, out),
            (Param::Text(value), &Type::TEXT | &Type::VARCHAR) => value.as_ref().to_sql(ty, out),
            (Param::Blob(value), &Type::BYTEA) => value.as_ref().to_sql(ty, out),
            (Param::Int(_) | Param::Real(_) | Param::Text(_) | Param::Blob(_), _) => {
                Err(Box::new(WrongShape(ty.clone())))
            }
        }
    }

    fn accepts(_ty: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Column<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *ty {
            Type::INT8 => Column::Int(i64::from_sql(ty, raw)?),
            Type::INT4 => Column::Int(i64::from(i32::from_sql(ty, raw)?)),
            Type::FLOAT8 => Column::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Column::Blob(raw),
            _ => Column::Text(std::str::from_utf8(raw)?),
        })
    }

    fn from_sql_null(_ty: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Column::Null)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(
            ty,
            &Type::INT8 | &Type::INT4 | &Type::FLOAT8 | &Type::BYTEA | &Type::TEXT | &Type::VARCHAR
        )
    }
}

impl Columns for tokio_postgres::Row {
    fn column(&self, index: usize) -> Result<Column<'_>, StorageError> {
        self.try_get(index).map_err(|error| StorageError::internal(crate::error::describe(&error)))
    }
}
