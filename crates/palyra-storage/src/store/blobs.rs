//! `blobs` and `blob_references`: what is in the blob store and who needs it.

use palyra_common::time::Timestamp;

use super::blob_trash;
use crate::{Row, Sql, StorageError, Tx, claim_sql, params, sql};

const LOCK: Sql =
    sql!("UPDATE blobs SET touched_at = $2 WHERE sha256 = $1 RETURNING generation, state");

const BEGIN: Sql = sql!(
    "INSERT INTO blobs (sha256, generation, size, state, holders, touched_at)
     VALUES ($1, $2, $3, 'uploading', 0, $4)
     ON CONFLICT (sha256) DO NOTHING"
);

const BEGIN_AGAIN: Sql =
    sql!("UPDATE blobs SET generation = $2, state = 'uploading' WHERE sha256 = $1");

const FINISH_PUT: Sql = sql!(
    "UPDATE blobs SET state = 'live', touched_at = $3
     WHERE sha256 = $1 AND generation = $2 AND state <> 'deleting'"
);

const FIND_LIVE: Sql =
    sql!("SELECT generation, size FROM blobs WHERE sha256 = $1 AND state = 'live'");

const TOUCH_LIVE: Sql =
    sql!("UPDATE blobs SET touched_at = $2 WHERE sha256 = $1 AND state = 'live'");

const HOLD: Sql = sql!(
    "INSERT INTO blob_references (sha256, holder) VALUES ($1, $2)
     ON CONFLICT (sha256, holder) DO NOTHING"
);

const COUNT_HOLDER: Sql =
    sql!("UPDATE blobs SET holders = holders + $2, touched_at = $3 WHERE sha256 = $1");

const IS_HELD: Sql = sql!("SELECT count(*) FROM blob_references WHERE sha256 = $1 AND holder = $2");

const LET_GO: Sql = sql!("DELETE FROM blob_references WHERE sha256 = $1 AND holder = $2");

const CLAIM_UNHELD: Sql = claim_sql!(
    "UPDATE blobs SET state = 'deleting' WHERE sha256 IN (
         SELECT sha256 FROM blobs WHERE holders = 0 AND touched_at < $1
         ORDER BY touched_at LIMIT $2",
    ") RETURNING sha256, generation"
);

const REMOVE: Sql =
    sql!("DELETE FROM blobs WHERE sha256 = $1 AND generation = $2 AND state = 'deleting'");

const TOTALS: Sql = sql!("SELECT count(*), CAST(coalesce(sum(size), 0) AS BIGINT) FROM blobs");

/// The columns of [`read_stored`], in its order.
pub(crate) const COLUMNS: &[&str] = &[SHA256, GENERATION, "size"];
pub(crate) const TABLE: &str = "blobs";
pub(crate) const SHA256: &str = "sha256";
pub(crate) const GENERATION: &str = "generation";

/// A blob that was put, as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) place: Located,
    pub(crate) size: u64,
}

pub(crate) fn read_stored(row: &Row<'_>) -> Result<Stored, StorageError> {
    let place = Located { sha256: row.get(0)?, generation: row.get(1)? };
    Ok(Stored { place, size: row.get(2)? })
}

/// Where the object of a blob is, or is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) sha256: String,
    pub(crate) generation: String,
}

/// What a put finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PutBegun {
    pub(crate) generation: String,
    pub(crate) already_there: bool,
}

/// Makes the row, or finds it. A blob that is being deleted gets a new generation: the object that
/// goes and the one that comes have different names, and what goes is remembered as trash.
pub(crate) fn begin_put(
    tx: &mut Tx<'_>,
    blob: &Located,
    size: i64,
    now: Timestamp,
) -> Result<PutBegun, StorageError> {
    let begun = |generation: &str, already_there| PutBegun {
        generation: generation.to_owned(),
        already_there,
    };
    loop {
        let params = params![&blob.sha256, &blob.generation, size, now];
        if tx.execute(&BEGIN, params)? == 1 {
            return Ok(begun(&blob.generation, false));
        }
        let found: Option<(String, String)> =
            tx.query_opt(&LOCK, params![&blob.sha256, now], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some((generation, state)) = found else {
            // Collected between the two statements: there is room for a new row now.
            continue;
        };
        if state != "deleting" {
            return Ok(begun(&generation, state == "live"));
        }
        blob_trash::add(tx, &Located { sha256: blob.sha256.clone(), generation })?;
        tx.execute(&BEGIN_AGAIN, params![&blob.sha256, &blob.generation])?;
        return Ok(begun(&blob.generation, false));
    }
}

/// Says whether the blob is live now. It is not if it was collected during the upload.
pub(crate) fn finish_put(
    tx: &mut Tx<'_>,
    blob: &Located,
    now: Timestamp,
) -> Result<bool, StorageError> {
    Ok(tx.execute(&FINISH_PUT, params![&blob.sha256, &blob.generation, now])? == 1)
}

/// The generation and size of a live blob.
pub(crate) fn find_live(
    tx: &mut Tx<'_>,
    sha256: &str,
) -> Result<Option<(String, u64)>, StorageError> {
    tx.query_opt(&FIND_LIVE, params![sha256], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Adds a holder. Says whether the blob is live, and so held.
pub(crate) fn hold(
    tx: &mut Tx<'_>,
    sha256: &str,
    holder: &str,
    now: Timestamp,
) -> Result<bool, StorageError> {
    if tx.execute(&TOUCH_LIVE, params![sha256, now])? == 0 {
        return Ok(false);
    }
    let added = tx.execute(&HOLD, params![sha256, holder])?;
    if added == 1 {
        tx.execute(&COUNT_HOLDER, params![sha256, 1i64, now])?;
    }
    Ok(true)
}

pub(crate) fn is_held(tx: &mut Tx<'_>, sha256: &str, holder: &str) -> Result<bool, StorageError> {
    Ok(tx.query_one(&IS_HELD, params![sha256, holder], |row| row.get::<i64>(0))? > 0)
}

pub(crate) fn let_go(
    tx: &mut Tx<'_>,
    sha256: &str,
    holder: &str,
    now: Timestamp,
) -> Result<(), StorageError> {
    // The row of the blob first, as in `hold`: two who lock in one order never wait for each other.
    tx.execute(&COUNT_HOLDER, params![sha256, 0i64, now])?;
    if tx.execute(&LET_GO, params![sha256, holder])? == 1 {
        tx.execute(&COUNT_HOLDER, params![sha256, -1i64, now])?;
    }
    Ok(())
}

/// Marks blobs that nobody has held since `before`, and those left in that state by a collection
/// that died, for deletion.
pub(crate) fn claim_unheld(
    tx: &mut Tx<'_>,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<Located>, StorageError> {
    tx.query(&CLAIM_UNHELD, params![before, limit], |row| {
        Ok(Located { sha256: row.get(0)?, generation: row.get(1)? })
    })
}

/// Removes the row of a deleted object, unless it was put again meanwhile.
pub(crate) fn remove(tx: &mut Tx<'_>, blob: &Located) -> Result<(), StorageError> {
    tx.execute(&REMOVE, params![&blob.sha256, &blob.generation]).map(drop)
}

/// How many blobs there are and their bytes.
pub(crate) fn totals(tx: &mut Tx<'_>) -> Result<(u64, u64), StorageError> {
    tx.query_one(&TOTALS, params![], |row| Ok((row.get(0)?, row.get(1)?)))
}
