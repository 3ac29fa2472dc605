//! How many requests of one principal are worked on at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use palyra_common::{ErrorCode, Principal};
use palyra_identity::{Access, Credential};

use super::refusal::{Answer, Refusal};

/// Counts requests under way, principal by principal. Whoever has none is not remembered.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    most: u32,
    taken: Arc<Mutex<HashMap<Principal, u32>>>,
}

/// A place among those of its principal, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    principal: Principal,
    taken: Arc<Mutex<HashMap<Principal, u32>>>,
}

/// Where the slot of a request stays until its answer is made: whoever takes it may be gone earlier.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlotKeeper(Arc<Mutex<Option<Slot>>>);

impl SlotKeeper {
    pub(crate) fn keep(&self, slot: Option<Slot>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = slot;
    }
}

impl Slots {
    /// 0: any number.
    pub(crate) fn new(most: u32) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// A slot, or a refusal. The local owner needs none: they must get in when nobody else does.
    pub(crate) fn take(&self, access: &Access) -> Answer<Option<Slot>> {
        if self.most == 0 || access.credential == Credential::LocalOwner {
            return Ok(None);
        }
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(access.principal.clone()).or_insert(0);
        if *count >= self.most {
            let what = format!(
                "more requests of {} are under way than http.max_requests_per_principal, {}",
                access.principal, self.most
            );
            return Err(Refusal::new(ErrorCode::HttpBusy, what));
        }
        *count += 1;
        Ok(Some(Slot { principal: access.principal.clone(), taken: self.taken.clone() }))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.principal) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => drop(taken.remove(&self.principal)),
        }
    }
}

#[cfg(test)]
mod tests;
