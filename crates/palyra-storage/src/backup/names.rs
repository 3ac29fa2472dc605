//! The names that a restore gives to blobs in their store, and how what was put under them is known
//! again.

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use palyra_common::ids::EventId;
use palyra_common::time::Timestamp;
use sha2::{Digest, Sha256};

use crate::engine::sqlite::load::restoring;
use crate::private::{self, absent};
use crate::store::blobs::Located;

/// Nobody has the same ones who does not know the salt.
pub(super) struct NewNames {
    salt: [u8; 16],
    pub(super) made_at: Timestamp,
}

impl NewNames {
    pub(super) fn new() -> Self {
        Self { salt: crate::clock::random(), made_at: Timestamp::UNIX_EPOCH }
    }

    pub(super) fn of(&self, sha256: &str) -> Located {
        let mut digest = Sha256::new_with_prefix(self.salt);
        digest.update(sha256.as_bytes());
        let mut entropy = [0; 16];
        entropy.copy_from_slice(&digest.finalize()[..16]);
        let generation = EventId::from_parts(self.made_at, u128::from_be_bytes(entropy));
        Located { sha256: sha256.to_owned(), generation: generation.to_string() }
    }

    /// Writes the salt down beside the new database, on the disk before anything is put.
    pub(super) fn write_down(&self, database: &Path) -> io::Result<()> {
        let path = restoring(database);
        let mut file = private::open_file(&path)?;
        file.set_len(0)?;
        writeln!(file, "{:032x}", u128::from_be_bytes(self.salt))?;
        file.sync_all()?;
        private::sync_folder_of(&path)
    }
}

/// Takes away what an unfinished restore has put into a folder, and nothing else that is there.
pub(super) fn take_away(database: &Path, folder: &Path) -> io::Result<()> {
    let said = match std::fs::read_to_string(restoring(database)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    match u128::from_str_radix(said.trim(), 16) {
        Ok(salt) => clear(folder, salt.to_be_bytes()),
        // It was killed while it wrote this, and had put nothing.
        Err(_) => Ok(()),
    }
}

fn clear(folder: &Path, salt: [u8; 16]) -> io::Result<()> {
    let items = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    for item in items {
        let item = item?;
        if item.file_type()?.is_dir() {
            clear(&item.path(), salt)?;
            // It stays if there is anything else in it.
            let _ = std::fs::remove_dir(item.path());
        } else if was_put(&item.file_name().to_string_lossy(), salt) {
            absent(std::fs::remove_file(item.path()))?;
        }
    }
    Ok(())
}

/// Whether a file has a name that a restore with this salt has given.
fn was_put(name: &str, salt: [u8; 16]) -> bool {
    // A file that is not whole has a number behind its name.
    let whole = name.split_once('#').map_or(name, |(whole, _)| whole);
    let Some((sha256, generation)) = whole.split_once('.') else {
        return false;
    };
    let given = |id: EventId| NewNames { salt, made_at: id.created_at() }.of(sha256).generation;
    generation.parse().is_ok_and(|id| given(id) == generation)
}

#[cfg(test)]
mod tests;
