//! Units of work on their way to an engine's thread and back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use tokio::sync::oneshot;

use crate::StorageError;
use crate::tx::{AfterCommit, Tx};

/// A closure and the caller that waits for its result, without their types.
pub(crate) trait UnitOfWork: Send {
    /// Runs the closure and keeps its result. Runs again when the transaction must be repeated.
    fn run(&mut self, tx: &mut Tx<'_>) -> Verdict;

    /// Gives the caller the kept result of the last run, or `instead`.
    fn answer(self: Box<Self>, instead: Option<StorageError>);

    /// When the caller began to wait.
    fn submitted(&self) -> Instant;

    /// The caller has gone away and nobody will see the result.
    fn is_abandoned(&self) -> bool;
}

/// What is to become of what a unit has written.
#[derive(Debug)]
pub(crate) enum Verdict {
    Keep(AfterCommit),
    /// The closure refused, by an error of its own or of the database.
    Undo,
}

/// What a caller waits for.
pub(crate) type Answer<T, E> = oneshot::Receiver<Result<T, E>>;

struct Unit<T, E, F> {
    work: F,
    result: Option<Result<T, E>>,
    caller: oneshot::Sender<Result<T, E>>,
    submitted: Instant,
}

pub(crate) fn unit<T, E, F>(work: F) -> (Box<dyn UnitOfWork>, Answer<T, E>)
where
    F: Fn(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<StorageError> + Send + 'static,
{
    let (caller, answer) = oneshot::channel();
    (Box::new(Unit { work, result: None, caller, submitted: Instant::now() }), answer)
}

impl<T, E, F> UnitOfWork for Unit<T, E, F>
where
    F: Fn(&mut Tx<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<StorageError> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Verdict {
        // A panic is a defect of one caller; the others in its group and the thread live on.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(tx)));
        let outcome =
            outcome.unwrap_or_else(|_| Err(StorageError::internal("a unit panicked").into()));
        let (result, verdict) = match outcome {
            Ok(value) => match tx.finish() {
                Ok(after) => (Ok(value), Verdict::Keep(after)),
                Err(error) => (Err(error.into()), Verdict::Undo),
            },
            Err(error) => (Err(error), Verdict::Undo),
        };
        self.result = Some(result);
        verdict
    }

    fn answer(self: Box<Self>, instead: Option<StorageError>) {
        let result = match instead {
            Some(error) => Err(error.into()),
            None => self.result.unwrap_or_else(|| {
                Err(StorageError::internal("a unit was answered before it ran").into())
            }),
        };
        // A caller that stopped waiting has given up its right to know.
        let _ = self.caller.send(result);
    }

    fn submitted(&self) -> Instant {
        self.submitted
    }

    fn is_abandoned(&self) -> bool {
        self.caller.is_closed()
    }
}
