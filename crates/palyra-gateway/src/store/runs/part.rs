//! Runs of a part of the history of a session.

use palyra_storage::{Sql, StorageError, Tx, params, sql, text};

use super::{Run, columns, read};
use crate::store::sessions::Fork;

/// The newest first.
const IN_PART: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM runs WHERE session_id = $1 AND session_seq < $2 AND history < $4 AND history >= $5
         AND session_seq >= $6
     ORDER BY session_seq DESC LIMIT $3"
));

/// Those before a place, the newest first.
pub(crate) fn in_part(
    tx: &mut Tx<'_>,
    part: Fork,
    below: i64,
    limit: u32,
) -> Result<Vec<Run>, StorageError> {
    let Fork { from, shown, until } = part;
    let params = params![text(from), below, limit, until, shown.history, shown.run];
    tx.query(&IN_PART, params, read)
}
