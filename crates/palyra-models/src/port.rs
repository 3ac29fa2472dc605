//! The port.

use futures_util::future::BoxFuture;

use crate::error::ModelError;
use crate::request::{Completion, ModelRequest};

/// Somebody who answers requests with a model.
///
/// *Ordering*: every delta comes before the completion, in the order of the text; together they are
/// the text of the completion. *Idempotency*: none; asking again costs again and may be answered
/// otherwise. A provider makes one attempt. *Cancellation*: whoever drops the future ends the call at
/// once, with its connection; what the provider has worked until then may be charged by it.
pub trait ModelProvider: Send + Sync {
    /// Asks once. After an error what went to the sink is the beginning of an answer that there is
    /// not; whoever shows it has to take it back.
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<Completion, ModelError>>;
}

/// A piece of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// Text that follows what came before.
    Text(&'a str),
}

/// Hears an answer as it comes. It is called in the middle of reading, so it must not wait.
pub trait DeltaSink: Send {
    /// The next piece.
    fn delta(&mut self, delta: Delta<'_>);
}

/// Hears nothing, for those who want only the whole.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unheard;

impl DeltaSink for Unheard {
    fn delta(&mut self, _: Delta<'_>) {}
}
