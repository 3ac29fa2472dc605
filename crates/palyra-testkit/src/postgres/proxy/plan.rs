//! Which COMMITs are cut, and how.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::seed::{Rng, Seed};

/// On which side of the server's work a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutKind {
    /// The server never sees the COMMIT.
    BeforeForward,
    /// The server has answered the COMMIT; the client never sees the answer.
    AfterForward,
    /// The client's connection ends at once; the COMMIT, and what was sent together with it,
    /// reaches the server a moment later.
    LateForward,
}

/// Which COMMITs to cut, counted over all connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CutPlan {
    /// None.
    Never,
    /// One.
    AtCommit {
        /// Which one, counted from 1.
        nth: u64,
        /// How.
        kind: CutKind,
    },
    /// Each with a probability between 0 and 1, in any of the ways.
    Random {
        /// From which the choices follow. With several connections their order is not the seed's.
        seed: Seed,
        /// Of each COMMIT to be cut.
        probability: f64,
    },
}

/// What a proxy has seen and done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutCounts {
    /// COMMITs that clients sent.
    pub commits: u64,
    /// Connections cut before their COMMIT was passed on.
    pub before_forward: u64,
    /// Connections cut after the server had answered their COMMIT.
    pub after_forward: u64,
    /// Connections cut while their COMMIT was still to reach the server.
    pub late_forward: u64,
    /// Of those, the ones that the server is done with: the COMMIT is applied or never will be.
    pub late_ended: u64,
}

#[derive(Debug)]
pub(super) struct Decider {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug)]
struct State {
    plan: CutPlan,
    rng: Rng,
    /// COMMITs since the plan was set.
    passed: u64,
    counts: CutCounts,
}

impl Decider {
    pub(super) fn new(plan: CutPlan) -> Self {
        let counts = CutCounts::default();
        let state = Mutex::new(State { plan, rng: rng_of(plan), passed: 0, counts });
        Self { state, ended: Condvar::new() }
    }

    pub(super) fn set_plan(&self, plan: CutPlan) {
        let mut state = self.lock();
        let counts = state.counts;
        *state = State { plan, rng: rng_of(plan), passed: 0, counts };
    }

    pub(super) fn counts(&self) -> CutCounts {
        self.lock().counts
    }

    /// Counts a COMMIT and says how it is to be cut, if at all.
    pub(super) fn commit(&self) -> Option<CutKind> {
        let mut state = self.lock();
        state.counts.commits += 1;
        state.passed += 1;
        match state.plan {
            CutPlan::Never => None,
            CutPlan::AtCommit { nth, kind } => (state.passed == nth).then_some(kind),
            CutPlan::Random { probability, .. } => {
                let kind = match state.rng.within(0..3) {
                    0 => CutKind::BeforeForward,
                    1 => CutKind::AfterForward,
                    _ => CutKind::LateForward,
                };
                state.rng.chance(probability).then_some(kind)
            }
        }
    }

    /// Counts a cut, before the client can notice it.
    pub(super) fn cut(&self, kind: CutKind) {
        let counts = &mut self.lock().counts;
        match kind {
            CutKind::BeforeForward => counts.before_forward += 1,
            CutKind::AfterForward => counts.after_forward += 1,
            CutKind::LateForward => counts.late_forward += 1,
        }
    }

    /// Counts the end of a connection that was cut late.
    pub(super) fn late_ended(&self) {
        self.lock().counts.late_ended += 1;
        self.ended.notify_all();
    }

    /// Waits until no COMMIT travels, at most for `limit`.
    pub(super) fn wait_for_late(&self, limit: Duration) -> CutCounts {
        let travels = |state: &mut State| state.counts.late_ended < state.counts.late_forward;
        let waited = self.ended.wait_timeout_while(self.lock(), limit, travels);
        waited.unwrap_or_else(PoisonError::into_inner).0.counts
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rng_of(plan: CutPlan) -> Rng {
    match plan {
        CutPlan::Random { seed, .. } => seed.rng(),
        CutPlan::Never | CutPlan::AtCommit { .. } => Seed::new(0).rng(),
    }
}

#[cfg(test)]
mod tests;
