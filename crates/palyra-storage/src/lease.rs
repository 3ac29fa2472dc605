//! Leases: for everything that one worker at a time may do.
//!
//! Fencing is what makes a lease safe, expiry only says when others may try: every transaction
//! made under a lease begins with [`Lease::fence`], which refuses it if the lease has meanwhile
//! been taken by somebody else, and holds the row so that it cannot be taken before the commit.

mod held;
mod keeper;

use std::sync::Arc;

use palyra_common::ids::IncarnationId;
use palyra_common::time::{Clock, Duration, Timestamp};

pub(crate) use held::Held;

pub use crate::store::leases::LeaseHolder;
pub use keeper::{KeeperHandle, LeaseKeeper, NodeState};

use crate::store::leases as rows;
use crate::{Database, StorageError, Tx};

/// What a lease is for: `retention`, `connector:echo`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseName(Arc<str>);

impl LeaseName {
    /// Names a lease.
    pub fn new(name: impl AsRef<str>) -> Self {
        Self(name.as_ref().into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for LeaseName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A lease that was taken, with the token under which it was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease {
    name: LeaseName,
    token: i64,
}

impl Lease {
    /// What it is for.
    pub fn name(&self) -> &LeaseName {
        &self.name
    }

    /// The fencing token. Of two holders of one name, the later has the larger.
    pub fn token(&self) -> i64 {
        self.token
    }

    /// The first statement of every transaction made under this lease. Refused with
    /// [`StorageError::StaleLease`] if it is no longer ours.
    pub fn fence(&self, tx: &mut Tx<'_>) -> Result<(), StorageError> {
        if rows::fence(tx, self.name.as_str(), self.token)? { Ok(()) } else { Err(self.stale()) }
    }

    fn stale(&self) -> StorageError {
        StorageError::StaleLease { name: self.name.to_string(), token: self.token }
    }
}

/// Takes and gives back the leases of one node incarnation.
#[derive(Clone)]
pub struct Leases {
    db: Database,
    clock: Arc<dyn Clock>,
    owner: IncarnationId,
    ttl: Duration,
}

impl Leases {
    /// The leases of this process.
    pub fn new(db: Database, clock: Arc<dyn Clock>, ttl: Duration) -> Self {
        let owner = db.incarnation();
        Self { db, clock, owner, ttl }
    }

    /// Takes a lease if nobody holds it. Does not wait. A lease that this node itself holds is
    /// held: two workers of one node are two workers.
    pub async fn try_take(&self, name: &LeaseName) -> Result<Option<Lease>, StorageError> {
        let (leases, name, now) = (self.clone(), name.clone(), self.clock.now());
        let asked = name.clone();
        // Whoever stands by asks again and again, and writes nothing for it.
        let is_held = move |tx: &mut Tx<'_>| {
            let now = tx.lease_time(now)?;
            let holder = rows::holder(tx, asked.as_str())?;
            Ok::<_, StorageError>(holder.is_some_and(|holder| holder.expires_at > now))
        };
        if self.db.read(is_held).await? {
            return Ok(None);
        }
        let taken = self.db.write(move |tx| leases.try_take_in(tx, &name, now)).await?;
        taken.iter().for_each(|lease| self.keep(lease));
        Ok(taken)
    }

    /// The same inside a transaction, for work that is born leased. After the commit the lease is
    /// passed to [`Leases::keep`].
    pub fn try_take_in(
        &self,
        tx: &mut Tx<'_>,
        name: &LeaseName,
        now: Timestamp,
    ) -> Result<Option<Lease>, StorageError> {
        let now = tx.lease_time(now)?;
        let token = rows::take(tx, name.as_str(), self.owner, now, now + self.ttl)?;
        Ok(token.map(|token| Lease { name: name.clone(), token }))
    }

    /// Counts a lease among those that are renewed. One that is not, because whoever took it never
    /// learnt that it did, is given back by the renewals.
    pub fn keep(&self, lease: &Lease) {
        self.db.held_leases().insert(lease.clone());
    }

    /// Gives a lease back, so that others need not wait for its expiry. If that fails, it is not
    /// renewed any more and the renewals try again.
    pub async fn release(&self, lease: Lease) -> Result<(), StorageError> {
        self.db.held_leases().remove(&lease);
        self.db.write(move |tx| rows::release(tx, lease.name.as_str(), lease.token)).await
    }

    /// Prolongs one lease, for work that cannot count on a [`LeaseKeeper`]. Refused with
    /// [`StorageError::StaleLease`] if it was lost.
    pub async fn prolong(&self, lease: &Lease) -> Result<(), StorageError> {
        let (held, ttl, now) = (lease.clone(), self.ttl, self.clock.now());
        self.db
            .write(move |tx| {
                let now = tx.lease_time(now)?;
                if rows::prolong(tx, held.name.as_str(), held.token, now, now + ttl)? {
                    Ok(())
                } else {
                    Err(held.stale())
                }
            })
            .await
    }

    /// Whether a lease is held, as far as the last renewal told. What is done on the strength of it
    /// is fenced as well: this only says when to stop.
    pub fn holds(&self, lease: &Lease) -> bool {
        self.db.held_leases().contains(lease)
    }

    /// How long a lease lasts unless it is renewed.
    pub(crate) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Who holds a lease, expired or not.
    pub async fn holder(&self, name: &LeaseName) -> Result<Option<LeaseHolder>, StorageError> {
        let name = name.clone();
        self.db.read(move |tx| rows::holder(tx, name.as_str())).await
    }

    /// Prolongs all leases of this node in one statement and returns what it holds. A lease that
    /// is missing from it was lost.
    pub async fn renew(&self) -> Result<Vec<Lease>, StorageError> {
        let (owner, ttl, now) = (self.owner, self.ttl, self.clock.now());
        let before = self.db.held_leases().before_renewal();
        let renewed = self
            .db
            .write(move |tx| {
                let now = tx.lease_time(now)?;
                let renewed = rows::renew(tx, owner, now, now + ttl)?;
                let lease = |(name, token)| Lease { name: LeaseName::new(name), token };
                Ok(renewed.into_iter().map(lease).collect::<Vec<_>>())
            })
            .await?;
        let (held, forgotten) = self.db.held_leases().compare(&before, renewed);
        for lease in forgotten {
            tracing::warn!(name = %lease.name, "giving back a lease that nobody holds");
            self.release(lease).await?;
        }
        Ok(held)
    }
}

/// Whether whoever took a lease under this token still has it. What it does is fenced as well: this
/// only says whether others may try.
pub fn is_held(tx: &mut Tx<'_>, token: i64, told: Timestamp) -> Result<bool, StorageError> {
    let now = tx.lease_time(told)?;
    rows::lives(tx, token, now)
}

/// Whether nobody has a lease under this token, asked by whoever takes over what was done under it. One
/// that has expired ends for good: renewed later, it would let what had begun before go on.
pub fn end_if_over(tx: &mut Tx<'_>, token: i64, told: Timestamp) -> Result<bool, StorageError> {
    let now = tx.lease_time(told)?;
    // First, so that nobody renews it between the look and the commit.
    rows::end_overdue(tx, token, now)?;
    Ok(!rows::lives(tx, token, now)?)
}

impl std::fmt::Debug for Leases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leases").field("owner", &self.owner).field("ttl", &self.ttl).finish()
    }
}
