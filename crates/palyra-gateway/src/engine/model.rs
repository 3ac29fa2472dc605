//! Asking models: the port, and one attempt with what streams out of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::{AuxiliaryPreference, RetryClass};
use palyra_common::text::strip_nul;
use palyra_connector_core::Outgoing;
use palyra_models::{Completion, Delta, DeltaSink, ModelRequest};
use palyra_policy::budget::Amount;
use tokio::sync::Notify;

/// Pieces of an answer are written down at most this often.
const WRITE_EVERY: Duration = Duration::from_millis(100);

/// Asks the models of an agent, in their order.
pub trait Thinker: Send + Sync {
    /// Asks, at no more than the worst case of one of them. The first `later` of the models have failed
    /// at a price in this turn, and come after the others. Dropping the future ends the call.
    fn think<'a>(
        &'a self,
        models: &'a [String],
        later: u32,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Thought, ThoughtError>>;

    /// Those of the models, and of the ones for side calls, that such a call is put to, in this order.
    /// None: there is none that can do it.
    fn preferred(&self, models: &[String], preference: AuxiliaryPreference) -> Vec<String>;

    /// Whether a model names a conversation that nobody has named.
    fn names_conversations(&self) -> bool {
        true
    }

    /// What an answer could take at most.
    fn worst_case(&self, models: &[String], request: &ModelRequest) -> Amount;

    /// How many tokens each of the models reads besides an answer of at most `answer`; nothing if there is
    /// no end to it.
    fn reads(&self, models: &[String], answer: u64) -> Option<u64>;

    /// How many tokens a text is.
    fn tokens(&self, text: &str) -> u64;
}

/// An answer, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Thought {
    /// The answer.
    pub completion: Completion,
    /// Who could not be had before, each with why.
    pub passed_over: Vec<String>,
    /// What it cost.
    pub spent: Amount,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ThoughtError {
    /// In words, without anything that was said.
    pub what: String,
    /// What to do about it.
    pub hint: String,
    /// Whether to try again.
    pub class: RetryClass,
    /// Not before this is over.
    pub after: Option<palyra_common::time::Duration>,
    /// What providers may charge all the same.
    pub owed: Amount,
}

/// What came of an attempt.
pub enum Asked<T> {
    /// This.
    Answered(T),
    /// It was broken off.
    Interrupted,
    /// The time was up.
    TooLate,
}

/// Collects an answer as it streams.
#[derive(Default)]
pub(super) struct Stream {
    text: Mutex<Streamed>,
    grown: Notify,
}

#[derive(Default)]
struct Streamed {
    /// All that has come.
    whole: String,
    /// How many bytes of it, without its secrets, were given out.
    given: usize,
    /// The same in characters.
    seen: u64,
    /// Whether something came since it was last looked at.
    fresh: bool,
}

pub(super) struct Sink(pub(super) Arc<Stream>);

impl DeltaSink for Sink {
    fn delta(&mut self, delta: Delta<'_>) {
        match delta {
            Delta::Text(text) => {
                let mut streamed = self.0.lock();
                streamed.whole.push_str(text);
                streamed.fresh = true;
            }
            _ => return,
        }
        self.0.grown.notify_one();
    }
}

impl Stream {
    fn lock(&self) -> std::sync::MutexGuard<'_, Streamed> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has come since the last call, without secrets, and how many characters came before it.
    /// An end that may be the beginning of a secret is kept back until more has come.
    pub(super) fn take(&self, outgoing: &dyn Outgoing) -> Option<(u64, String)> {
        let mut text = self.lock();
        text.fresh = false;
        let settled = text.whole.len().saturating_sub(outgoing.open_end(&text.whole));
        let whole = outgoing.clean(&strip_nul(text.whole.get(..settled)?));
        let piece = whole.get(text.given..).filter(|piece| !piece.is_empty())?.to_owned();
        let offset = text.seen;
        text.given = whole.len();
        text.seen += u64::try_from(piece.chars().count()).unwrap_or(0);
        Some((offset, piece))
    }

    /// All that has come, without secrets, and without an end that may be the beginning of one.
    pub(super) fn so_far(&self, outgoing: &dyn Outgoing) -> String {
        let text = self.lock();
        let settled = text.whole.len().saturating_sub(outgoing.open_end(&text.whole));
        let settled = text.whole.get(..settled).unwrap_or_default();
        outgoing.clean(&strip_nul(settled)).trim().to_owned()
    }

    /// Returns when there is something to write, and it is time to. Nothing is lost if that is not
    /// waited for.
    pub(super) async fn due(&self, last: Option<tokio::time::Instant>) {
        while !self.lock().fresh {
            self.grown.notified().await;
        }
        if let Some(last) = last {
            tokio::time::sleep_until(last + WRITE_EVERY).await;
        }
    }
}
