//! Key files: private, written whole, and never replaced before what replaces them is durable.

use std::fs::{File, TryLockError};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::KeyProblem;
use crate::key::{self, KeyBytes, KeyId};

#[cfg(test)]
mod tests;

/// More than any key or passphrase.
const MAX_BYTES: u64 = 4_096;

/// `palyra/keys/<digest of the data directory>.key` in the configuration directory: not beside the
/// data, so that a copy of the data directory does not hold the key to it.
pub(crate) fn default_path(data_dir: &Path) -> Result<PathBuf, KeyProblem> {
    let folder = |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty());
    let config = folder("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.filter(|folder| folder.is_absolute());
    let config = config.or_else(|| Some(PathBuf::from(folder("HOME")?).join(".config")));
    Ok(path_in(&config.ok_or(KeyProblem::NoHome)?, data_dir))
}

fn path_in(config: &Path, data_dir: &Path) -> PathBuf {
    config.join("palyra/keys").join(format!("{}.key", digest_of(data_dir)))
}

/// Tells installations apart.
pub(crate) fn digest_of(data_dir: &Path) -> String {
    let canonical = data_dir.canonicalize();
    let canonical = canonical.or_else(|_| std::path::absolute(data_dir));
    let canonical = canonical.unwrap_or_else(|_| data_dir.to_owned());
    let digest = Sha256::digest(canonical.as_os_str().as_encoded_bytes());
    key::hex(&digest[..8])
}

pub(crate) fn read_key(path: &Path) -> Result<KeyBytes, KeyProblem> {
    key::parse(&read(path)?)
}

/// Reads a small file that only this user may read.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<String>, KeyProblem> {
    let unusable = |error: Error| match error.kind() {
        ErrorKind::NotFound => KeyProblem::Missing { path: path.to_owned() },
        _ => unusable(path, error),
    };
    let file = File::open(path).map_err(unusable)?;
    // Asked of the open file, so that nobody can swap it in between.
    let about = file.metadata().map_err(unusable)?;
    let mode = about.permissions().mode() & 0o777;
    if !about.is_file() {
        return Err(unusable(Error::other("it is not a regular file")));
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeyProblem::Foreign { path: path.to_owned() });
    }
    if mode & 0o077 != 0 {
        return Err(KeyProblem::Exposed { path: path.to_owned(), mode });
    }
    let mut text = Zeroizing::new(String::with_capacity(MAX_BYTES as usize + 1));
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unusable)?;
    if read as u64 > MAX_BYTES {
        return Err(KeyProblem::Malformed);
    }
    Ok(text)
}

/// Makes the file appear whole, unless there is one. Whoever comes second finds the first one's.
pub(crate) fn create(path: &Path, bytes: &KeyBytes) -> Result<(), KeyProblem> {
    if let Some(folder) = path.parent() {
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(|error| unusable(folder, error))?;
    }
    let draft = beside(path, &format!("{}.draft", KeyId::random()));
    write_new(&draft, bytes)?;
    let linked = std::fs::hard_link(&draft, path);
    let removed = std::fs::remove_file(&draft);
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(unusable(path, error)),
        Ok(()) | Err(_) => {
            removed.map_err(|error| unusable(&draft, error))?;
            sync_folder(path)
        }
    }
}

/// Where the next key waits until it is in use: its id in the name says which one it is.
pub(crate) fn pending(path: &Path, id: &KeyId) -> PathBuf {
    beside(path, &format!("{id}.new"))
}

/// Writes the next key beside the one in use, durably.
pub(crate) fn write_pending(path: &Path, id: &KeyId, bytes: &KeyBytes) -> Result<(), KeyProblem> {
    write_new(&pending(path, id), bytes)?;
    sync_folder(path)
}

/// Where a key stays for as long as there are backups that need it, by its id.
pub(crate) fn kept(path: &Path, id: &KeyId) -> PathBuf {
    beside(path, id.as_str())
}

/// Removes a key that was kept, if there is one.
pub(crate) fn forget(path: &Path, id: &KeyId) -> Result<(), KeyProblem> {
    let kept = kept(path, id);
    match std::fs::remove_file(&kept) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unusable(&kept, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Puts the next key in the place of the one before, and keeps it by its id as well: what is in that
/// place later is not lost then. Nothing to do if somebody has done it.
pub(crate) fn finish(path: &Path, id: &KeyId) -> Result<(), KeyProblem> {
    match read_key(&pending(path, id)) {
        // Not as a link: somebody may write into the key file.
        Ok(bytes) if !holds(&kept(path, id), &bytes) => create(&kept(path, id), &bytes)?,
        Ok(_) => {}
        Err(KeyProblem::Missing { .. }) => {}
        Err(problem) => return Err(problem),
    }
    match std::fs::rename(pending(path, id), path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unusable(path, error)),
        Ok(()) | Err(_) => sync_folder(path),
    }
}

/// Whether the file holds this key.
pub(crate) fn holds(path: &Path, bytes: &KeyBytes) -> bool {
    read_key(path).is_ok_and(|found| *found == **bytes)
}

/// Removes a next key that was never in use.
pub(crate) fn discard(path: &Path, id: &KeyId) -> Result<(), KeyProblem> {
    let pending = pending(path, id);
    std::fs::remove_file(&pending).map_err(|error| unusable(&pending, error))
}

/// Removes keys of changes that were never committed. Only under the lock of [`lock`], and once the
/// key in use is in its place.
pub(crate) fn remove_pending(path: &Path, except: &KeyId) -> Result<(), KeyProblem> {
    let kept = pending(path, except);
    let start = beside(path, "");
    let folder = path.parent().unwrap_or(Path::new("/"));
    let files = std::fs::read_dir(folder).map_err(|error| unusable(folder, error))?;
    for file in files.flatten().map(|entry| entry.path()) {
        let name = file.as_os_str().as_encoded_bytes();
        let of_this = name.starts_with(start.as_os_str().as_encoded_bytes());
        if of_this && name.ends_with(b".new") && file != kept {
            std::fs::remove_file(&file).map_err(|error| unusable(&file, error))?;
        }
    }
    Ok(())
}

/// Keeps every other process of this machine from changing a key file in the same folder, for as
/// long as the result lives. `None`: somebody is at it.
pub(crate) fn lock(path: &Path) -> Result<Option<File>, KeyProblem> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let held = File::open(folder).map_err(|error| unusable(folder, error))?;
    match held.try_lock() {
        Ok(()) => Ok(Some(held)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(unusable(folder, error)),
    }
}

/// The whole file, or none.
fn write_new(path: &Path, bytes: &KeyBytes) -> Result<(), KeyProblem> {
    let made = File::options().write(true).create_new(true).mode(0o600).open(path);
    let mut file = made.map_err(|error| unusable(path, error))?;
    let mut write = || -> Result<(), Error> {
        file.write_all(key::write(bytes).as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()
    };
    write().map_err(|error| {
        // What the write has met is what there is to tell.
        let _ = std::fs::remove_file(path);
        unusable(path, error)
    })
}

fn sync_folder(path: &Path) -> Result<(), KeyProblem> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| unusable(folder, error))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn unusable(path: &Path, error: Error) -> KeyProblem {
    KeyProblem::Unusable { path: path.to_owned(), cause: Arc::new(error) }
}
