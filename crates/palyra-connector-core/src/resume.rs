//! Where a connection can be taken up again: never after something that is not kept.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ChannelError;

/// More than any platform needs to find its place.
const MAX_BYTES: usize = 16_384;

/// By what a platform finds where a connection was lost, in the words of its adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeState(Arc<str>);

impl ResumeState {
    /// A state of up to 16 KiB, without U+0000, which no database takes.
    pub fn new(state: &str) -> Result<Self, ChannelError> {
        match state.len() <= MAX_BYTES && !state.contains('\0') {
            true => Ok(Self(state.into())),
            false => Err(ChannelError::Invalid(format!(
                "what a connection is taken up by has at most {MAX_BYTES} bytes and no U+0000"
            ))),
        }
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A state to be saved, with its place among those that its connector has saved: one that comes late
/// replaces none that is newer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Save {
    pub(crate) state: ResumeState,
    /// The fencing token of whoever saves it.
    pub(crate) token: i64,
    pub(crate) position: i64,
}

/// Something that came in, from being handed over until it is kept.
#[derive(Debug)]
pub(crate) struct Step {
    position: i64,
    state: Option<ResumeState>,
}

/// How far what came in through one adapter is kept.
pub(crate) struct Progress {
    token: i64,
    /// Shared by all adapters of this node, one after the other: positions of one token only grow.
    positions: Arc<AtomicI64>,
    marks: Mutex<Marks>,
}

#[derive(Debug, Default)]
struct Marks {
    /// What was handed over and is not kept.
    open: BTreeSet<i64>,
    /// States of what is kept, the newest that may be saved and those behind something open.
    kept: BTreeMap<i64, ResumeState>,
    /// The newest that was given out to be saved.
    given_out: i64,
}

impl Progress {
    pub(crate) fn new(token: i64, positions: Arc<AtomicI64>) -> Self {
        Self { token, positions, marks: Mutex::default() }
    }

    /// Another connection begins, on which the platform sends again what is not kept.
    pub(crate) fn begin_anew(&self) {
        let mut marks = self.lock();
        marks.open.clear();
        marks.kept.clear();
    }

    pub(crate) fn begin(&self, state: Option<ResumeState>) -> Step {
        // Under the lock, so that who begins later is later.
        let mut marks = self.lock();
        let position = self.positions.fetch_add(1, Ordering::SeqCst) + 1;
        marks.open.insert(position);
        Step { position, state }
    }

    /// What may be saved in the transaction that keeps `step`, if that is new.
    pub(crate) fn save_with(&self, step: &Step) -> Option<Save> {
        let mut marks = self.lock();
        let (position, state) = marks.newest_with(step)?;
        if position <= marks.given_out {
            return None;
        }
        marks.given_out = position;
        Some(Save { state, token: self.token, position })
    }

    /// It is kept.
    pub(crate) fn kept(&self, step: Step) {
        let mut marks = self.lock();
        // It came in on an earlier connection, whose states are of no use any more.
        if !marks.open.remove(&step.position) {
            return;
        }
        if let Some(state) = step.state {
            marks.kept.insert(step.position, state);
        }
        marks.forget_older();
    }

    fn lock(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Marks {
    /// The newest state before which everything is kept, once `step` is.
    fn newest_with(&self, step: &Step) -> Option<(i64, ResumeState)> {
        if !self.open.contains(&step.position) {
            return None;
        }
        let first_open = self.open.iter().find(|open| **open != step.position);
        let end = first_open.copied().unwrap_or(i64::MAX);
        let before = self.kept.range(..end).next_back();
        let before = before.map(|(position, state)| (*position, state.clone()));
        let own = step.state.clone().filter(|_| step.position < end);
        before.into_iter().chain(own.map(|state| (step.position, state))).max_by_key(|(at, _)| *at)
    }

    fn forget_older(&mut self) {
        let end = self.open.first().copied().unwrap_or(i64::MAX);
        if let Some(newest) = self.kept.range(..end).next_back().map(|(position, _)| *position) {
            self.kept = self.kept.split_off(&newest);
        }
    }
}
