//! The keyring of the system, through its own tool: what speaks to keyrings directly brings a
//! hundred crates along.
//!
//! There is one entry per data directory for the key in use. The next key of a rotation waits in an
//! entry of its own, and keys that older backups need stay in such entries: these are found by the id
//! of the key and not by whoever looks for the one in use.

mod tool;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use palyra_storage::describe;

use super::{KeyProblem, blocking, file};
use crate::entropy;
use crate::key::{self, KeyBytes, KeyId};
use tool::{Entry, Tool, problem};

#[cfg(test)]
mod tests;

/// How long the tool may take. Somebody may have to type the password of the keyring.
const LIMIT: Duration = Duration::from_secs(30);
/// How long to wait for another process that makes the key.
const LOCK_WAIT: Duration = Duration::from_secs(60);
const LOCK_POLL: Duration = Duration::from_millis(20);

/// The keyring, as far as it concerns one data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keyring {
    tool: Tool,
    data_dir: PathBuf,
    /// Tells entries of several installations apart.
    place: String,
    limit: Duration,
}

/// While it lives, no other process changes the entries of this data directory.
pub(crate) struct Held(#[expect(dead_code, reason = "it is held, not looked at")] std::fs::File);

impl Keyring {
    pub(crate) fn of(data_dir: &Path) -> Self {
        let place = file::digest_of(data_dir);
        Self { tool: Tool::of_system(), data_dir: data_dir.to_owned(), place, limit: LIMIT }
    }

    /// The key in use. A locked keyring that nobody unlocks looks like one without the key.
    pub(crate) async fn read(&self) -> Result<Option<KeyBytes>, KeyProblem> {
        self.look(&self.in_use()).await
    }

    /// The key that a rotation has left.
    pub(crate) async fn pending(&self, id: &KeyId) -> Result<Option<KeyBytes>, KeyProblem> {
        self.look(&self.next(id)).await
    }

    /// The key of before a rotation.
    pub(crate) async fn kept(&self, id: &KeyId) -> Result<Option<KeyBytes>, KeyProblem> {
        self.look(&self.by_id(id)).await
    }

    /// Keeps a key by its id, for as long as there are backups that need it. The same by whoever
    /// does it, so it needs no lock.
    pub(crate) async fn keep(&self, id: &KeyId, key: &KeyBytes) -> Result<(), KeyProblem> {
        self.store(&self.by_id(id), key).await
    }

    /// Takes away a key that was kept, if there is one.
    pub(crate) async fn forget(&self, id: &KeyId) -> Result<(), KeyProblem> {
        self.tool.clear(&self.by_id(id), self.limit).await
    }

    /// The key, which is made if there is none.
    pub(crate) async fn read_or_create(&self) -> Result<KeyBytes, KeyProblem> {
        let until = Instant::now() + LOCK_WAIT;
        let _held = loop {
            match self.lock().await? {
                Some(held) => break held,
                None if Instant::now() < until => tokio::time::sleep(LOCK_POLL).await,
                None => return Err(problem("is being changed by another process")),
            }
        };
        if let Some(key) = self.read().await? {
            return Ok(key);
        }
        let key = entropy::random_key();
        self.store(&self.in_use(), &key).await?;
        Ok(key)
    }

    /// Keeps every other process of this machine from changing the entries. `None`: somebody is at
    /// it.
    pub(crate) async fn lock(&self) -> Result<Option<Held>, KeyProblem> {
        let inside = self.data_dir.join("keyring");
        Ok(blocking(move || file::lock(&inside)).await?.map(Held))
    }

    /// Puts the next key beside the one in use.
    pub(crate) async fn write_pending(
        &self,
        id: &KeyId,
        key: &KeyBytes,
        _: &Held,
    ) -> Result<(), KeyProblem> {
        self.store(&self.next(id), key).await
    }

    /// Puts the next key in the place of the one before, then takes it away where it was, as far as
    /// that can be done: there it is in nobody's way. It is kept by its id as well: what is in that
    /// place later is not lost then. Nothing to do if somebody has done it.
    pub(crate) async fn finish(&self, id: &KeyId, _: &Held) -> Result<(), KeyProblem> {
        if let Some(key) = self.pending(id).await? {
            self.keep(id, &key).await?;
            self.store(&self.in_use(), &key).await?;
            palyra_storage::crash_point!("vault.keyring.replaced");
            if let Err(problem) = self.tool.clear(&self.next(id), self.limit).await {
                tracing::warn!(error = %describe(&problem), "an entry of a past rotation was left");
            }
        }
        Ok(())
    }

    /// Takes away a next key that is not in use.
    pub(crate) async fn discard(&self, id: &KeyId, _: &Held) -> Result<(), KeyProblem> {
        self.tool.clear(&self.next(id), self.limit).await
    }

    /// Takes away every next key, once the one in use is in its place.
    pub(crate) async fn discard_all(&self, _: &Held) -> Result<(), KeyProblem> {
        self.tool.clear(&Entry::AnyNext { place: &self.place }, self.limit).await
    }

    async fn look(&self, entry: &Entry<'_>) -> Result<Option<KeyBytes>, KeyProblem> {
        let Some(text) = self.tool.look(entry, self.limit).await? else {
            return Ok(None);
        };
        let malformed = "holds something in the place of the key that is none; put the key back, \
                         32 bytes in base64 or hex";
        key::parse(&text).map(Some).map_err(|_| problem(malformed))
    }

    /// Stores the key and looks whether it is there: nothing may be locked with a key that only
    /// seems to be kept.
    async fn store(&self, entry: &Entry<'_>, key: &KeyBytes) -> Result<(), KeyProblem> {
        self.tool.store(entry, &key::write(key), self.limit).await?;
        match self.look(entry).await? {
            Some(found) if *found == **key => Ok(()),
            Some(_) | None => Err(problem("was given a key and does not give it back; unlock it")),
        }
    }

    fn in_use(&self) -> Entry<'_> {
        Entry::InUse { place: &self.place }
    }

    fn next<'a>(&'a self, id: &'a KeyId) -> Entry<'a> {
        Entry::Next { place: &self.place, id: id.as_str() }
    }

    fn by_id<'a>(&'a self, id: &'a KeyId) -> Entry<'a> {
        Entry::Kept { place: &self.place, id: id.as_str() }
    }
}
