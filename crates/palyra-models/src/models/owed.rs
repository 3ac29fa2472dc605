//! What has to be paid for without an answer.

use super::Entry;
use crate::error::ModelError;
use crate::price::MicroUsd;
use crate::request::ModelRequest;
use crate::tokens::count_request;

/// What providers may charge for work that came to nothing. Nobody knows how much it was, so it is
/// as much as it can have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Owed {
    /// Tokens.
    pub tokens: u64,
    /// What they cost.
    pub cost: MicroUsd,
}

impl Owed {
    pub(super) fn worst(entry: &Entry, request: &ModelRequest) -> Self {
        let answer = request.max_output_tokens.min(entry.info.max_output_tokens);
        let tokens = count_request(request).saturating_add(u64::from(answer));
        Self { tokens, cost: entry.worst_cost(request) }
    }
}

/// Nobody answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Unanswered {
    /// Why.
    pub error: ModelError,
    /// What has to be paid all the same.
    pub owed: Owed,
    /// Whom it makes sense to ask.
    pub next: Next,
}

/// Whom it makes sense to ask after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The rest of the list: they were not asked, because the one before them has to be paid.
    SomebodyElse,
    /// Nobody who was not asked.
    NobodyElse,
}

impl Unanswered {
    pub(super) fn for_nothing(error: ModelError) -> Self {
        Self { error, owed: Owed::default(), next: Next::NobodyElse }
    }
}
