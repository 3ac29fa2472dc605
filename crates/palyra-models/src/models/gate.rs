//! Who is let through to a provider.

use std::sync::{Mutex, MutexGuard, PoisonError};

use palyra_common::runtime_contracts::RetryClass;
use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_policy::breaker::{Breaker, Outcome, Rules, Verdict, ask, settle};
use serde::Serialize;

use crate::error::ModelError;

/// What is known of one provider.
pub(super) struct Gate {
    rules: Rules,
    breaker: Mutex<Breaker>,
    /// What went wrong last.
    why: Mutex<String>,
}

/// How a provider is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProviderStatus {
    /// Which one.
    pub name: String,
    /// How it is.
    pub state: ProviderState,
    /// How long it is still left alone.
    pub retry_after: Option<Duration>,
    /// What went wrong last, unless it is asked.
    pub why: Option<String>,
}

/// Whether a provider is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderState {
    /// It is.
    Open,
    /// It is left alone.
    Paused,
    /// One call tries it.
    Trying,
}

/// The leave to make one call. Dropped without a word, the call was abandoned.
pub(super) struct Pass<'a> {
    gate: &'a Gate,
    clock: &'a dyn Clock,
    outcome: Outcome,
}

impl Gate {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, breaker: Mutex::default(), why: Mutex::default() }
    }

    /// Lets a call through, or says how long to wait, and for what.
    pub(super) fn enter<'a>(
        &'a self,
        clock: &'a dyn Clock,
    ) -> Result<Pass<'a>, (Duration, String)> {
        let mut breaker = self.breaker();
        let (next, verdict) = ask(*breaker, &self.rules, clock.now());
        *breaker = next;
        match verdict {
            Verdict::Go => Ok(Pass { gate: self, clock, outcome: Outcome::Abandoned }),
            Verdict::Wait(wait) => Err((wait, self.why().clone())),
        }
    }

    /// Lets a call through that somebody makes to see whether there is an answer.
    pub(super) fn enter_anyway<'a>(&'a self, clock: &'a dyn Clock) -> Pass<'a> {
        Pass { gate: self, clock, outcome: Outcome::Abandoned }
    }

    pub(super) fn status(&self, name: &str, now: Timestamp) -> ProviderStatus {
        let breaker = *self.breaker();
        let (state, retry_after) = match (breaker, ask(breaker, &self.rules, now).1) {
            (Breaker::Closed { .. }, _) => (ProviderState::Open, None),
            (Breaker::Open { .. }, Verdict::Wait(wait)) => (ProviderState::Paused, Some(wait)),
            // The next call tries it.
            (Breaker::Open { .. }, Verdict::Go) => (ProviderState::Paused, None),
            (Breaker::Trying { .. }, _) => (ProviderState::Trying, None),
        };
        let why = (state != ProviderState::Open).then(|| self.why().clone());
        ProviderStatus { name: name.to_owned(), state, retry_after, why }
    }

    fn why(&self) -> MutexGuard<'_, String> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// Says what came of the call.
    pub(super) fn leave(mut self, error: Option<&ModelError>) {
        self.outcome = error.map_or(Outcome::Answered, outcome);
        if let Some(ModelError::Call { problem, .. }) = error {
            *self.gate.why() = problem.to_string();
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut breaker = self.gate.breaker();
        *breaker = settle(*breaker, self.outcome, &self.gate.rules, self.clock.now());
    }
}

fn outcome(error: &ModelError) -> Outcome {
    match (error.retry_class(), error.retry_after()) {
        (RetryClass::RateLimit | RetryClass::TransientNetwork, Some(wait)) => {
            Outcome::Limited(wait)
        }
        (RetryClass::RateLimit, None)
        | (RetryClass::TransientNetwork, None)
        | (RetryClass::ConnectorRestarting, _) => Outcome::Failed,
        // It is there, and says no; or nobody asked it.
        (RetryClass::Permanent, _) => Outcome::Answered,
    }
}
