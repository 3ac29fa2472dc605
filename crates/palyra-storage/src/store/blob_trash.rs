//! `blob_trash`: objects that are to go and whose blob has a newer one.

use super::blobs::Located;
use crate::{Sql, StorageError, Tx, params, sql};

const ADD: Sql = sql!(
    "INSERT INTO blob_trash (generation, sha256) VALUES ($1, $2)
     ON CONFLICT (generation) DO NOTHING"
);

const SOME: Sql = sql!("SELECT sha256, generation FROM blob_trash ORDER BY generation LIMIT $1");

const REMOVE: Sql = sql!("DELETE FROM blob_trash WHERE generation = $1");

pub(crate) fn add(tx: &mut Tx<'_>, blob: &Located) -> Result<(), StorageError> {
    tx.execute(&ADD, params![&blob.generation, &blob.sha256]).map(drop)
}

pub(crate) fn some(tx: &mut Tx<'_>, limit: u32) -> Result<Vec<Located>, StorageError> {
    tx.query(&SOME, params![limit], |row| {
        Ok(Located { sha256: row.get(0)?, generation: row.get(1)? })
    })
}

pub(crate) fn remove(tx: &mut Tx<'_>, blob: &Located) -> Result<(), StorageError> {
    tx.execute(&REMOVE, params![&blob.generation]).map(drop)
}
