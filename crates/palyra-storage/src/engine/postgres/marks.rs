//! Finding out what became of a COMMIT whose answer was lost.
//!
//! Each connection owns a row. The last thing a transaction does, in the same message as its
//! COMMIT, is to write the id of its unit there. When the answer is lost, the next connection
//! *takes the row away*: that waits for a commit still under way, shows which unit was the last
//! to be committed, and makes the mark of a COMMIT that is still travelling fail, and with it
//! that commit. So the answer is final, and the unit can be run again without doubling it.

use futures_util::future::join;
use palyra_common::ids::{EventId, IncarnationId};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

use crate::store::commit_marks;

/// The row of one connection.
pub(crate) struct Slot {
    name: String,
    mark: Statement,
}

impl Slot {
    pub(super) async fn open(client: &Client, node: IncarnationId) -> Result<Self, Error> {
        let name = crate::clock::new_id::<EventId>().to_string();
        client.execute(commit_marks::OPEN.postgres, &[&name, &node.to_string()]).await?;
        let mark = client.prepare(commit_marks::MARK.postgres).await?;
        Ok(Self { name, mark })
    }

    /// Commits, leaving `unit` as the mark.
    pub(super) async fn commit(&self, client: &Client, unit: &str) -> Result<(), Error> {
        let params: [&(dyn ToSql + Sync); 2] = [&self.name, &unit];
        let (marked, committed) =
            join(client.query(&self.mark, &params), client.batch_execute("COMMIT")).await;
        marked.and(committed)
    }

    /// Removes the row of a connection that ends in order.
    pub(super) async fn close(&self, client: &Client) -> Result<(), Error> {
        client.execute(commit_marks::TAKE.postgres, &[&self.name]).await.map(drop)
    }

    /// Whether `unit` is marked as committed. Says nothing of a COMMIT that is under way.
    pub(super) async fn holds(&self, client: &Client, unit: &str) -> Result<bool, Error> {
        let found = client.query_opt(commit_marks::READ.postgres, &[&self.name]).await?;
        Ok(found.is_some_and(|row| row.get::<_, Option<&str>>(0) == Some(unit)))
    }

    /// Asks, on another connection than the lost one, whether `unit` was committed, and takes the row
    /// away. `seen` outlives a question whose own answer was lost: what it saw while it held the row is
    /// what the next one, which finds the row gone, has to go by.
    pub(super) async fn take(
        &self,
        client: &Client,
        unit: &str,
        seen: &mut Option<Fate>,
    ) -> Result<Fate, Error> {
        client.batch_execute("BEGIN").await?;
        if let Some(row) = client.query_opt(commit_marks::HOLD.postgres, &[&self.name]).await? {
            let committed = row.get::<_, Option<&str>>(0) == Some(unit);
            *seen = Some(if committed { Fate::Committed } else { Fate::NotCommitted });
            client.execute(commit_marks::TAKE.postgres, &[&self.name]).await?;
        }
        client.batch_execute("COMMIT").await?;
        Ok(seen.unwrap_or(Fate::Unknown))
    }
}

/// The row of this connection was swept away while it was idle; the commit was refused.
pub(super) fn slot_is_gone(error: &Error) -> bool {
    error.code() == Some(&SqlState::DIVISION_BY_ZERO)
}

/// What became of the last commit of a lost connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Committed,
    /// It was not committed, and never will be.
    NotCommitted,
    /// The row is gone, and nobody here has taken it: somebody swept it.
    Unknown,
}
