//! Statements of a transaction on a Postgres connection.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

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
/// than may be in flight. One that cannot even be sent is known when this was polled, whatever the
/// server has yet to say about those before it; of those that it refuses the first one is answered first.
pub(super) async fn send_all(client: &Client, kept: &[Kept]) -> Result<(), tokio_postgres::Error> {
    let each = kept.iter().map(|kept| client.execute_raw(&kept.statement, &kept.params));
    stream::iter(each).buffer_unordered(IN_FLIGHT).try_for_each(|_| ready(Ok(()))).await
}

/// Commits behind what is sent. A transaction in which a statement has failed is not committed by the
/// server, whatever comes after it; but of one that could not be sent the server knows nothing, so the
/// COMMIT is not sent either.
pub(super) async fn commit_behind<E>(
    sent: impl Future<Output = Result<(), E>>,
    committing: impl Future<Output = Result<(), E>>,
) -> Result<(), E> {
    pin_mut!(sent);
    match poll_once(sent.as_mut()).await {
        Some(sent) => {
            sent?;
            committing.await
        }
        None => {
            let (sent, committed) = join(sent, committing).await;
            sent.and(committed)
        }
    }
}

async fn poll_once<T>(mut future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
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
        check(&statement, params)?;
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
        rest.iter().try_for_each(|params| check(&statement, params))?;
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
        check(&statement, params)?;
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
        check(&statement, params)?;
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

/// The driver panics on a wrong number of parameters. And what does not fit is refused here, because of
/// a statement that it cannot encode it sends nothing: the transaction would go on without it.
fn check(statement: &Statement, params: &[Param<'_>]) -> Result<(), StorageError> {
    let types = statement.params();
    if types.len() != params.len() {
        return Err(StorageError::internal(format!(
            "a statement with {} parameters was given {}",
            types.len(),
            params.len()
        )));
    }
    let mut each = params.iter().zip(types);
    match each.find(|(param, ty)| !fits(param, ty)) {
        Some((_, ty)) => Err(StorageError::internal(WrongShape(ty.clone()).to_string())),
        None => Ok(()),
    }
}

fn fits(param: &Param<'_>, ty: &Type) -> bool {
    match param {
        Param::Null => true,
        Param::Int(value) => match *ty {
            Type::INT8 => true,
            Type::INT4 => i32::try_from(*value).is_ok(),
            _ => false,
        },
        Param::Real(_) => *ty == Type::FLOAT8,
        Param::Text(_) => matches!(*ty, Type::TEXT | Type::VARCHAR),
        Param::Blob(_) => *ty == Type::BYTEA,
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
        if !fits(self, ty) {
            return Err(Box::new(WrongShape(ty.clone())));
        }
        match self {
            Param::Null => Ok(IsNull::Yes),
            Param::Int(value) if *ty == Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
            Param::Int(value) => value.to_sql(ty, out),
            Param::Real(value) => value.to_sql(ty, out),
            Param::Text(value) => value.as_ref().to_sql(ty, out),
            Param::Blob(value) => value.as_ref().to_sql(ty, out),
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
