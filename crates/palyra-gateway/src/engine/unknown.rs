//! Calls that were begun and have no end: nobody knows whether they were done.

use palyra_common::runtime_contracts::{ToolOutcome, Trust};
use palyra_common::tape::{TapeEvent, ToolCompleted, ToolProposed};
use palyra_policy::run::{CallState, RunState};

use super::drive::Held;
use crate::error::GatewayError;
use crate::store::tape;
use crate::tools::DELEGATE;

/// What is told of a call that was begun and has no end.
const UNKNOWN: &str = "it was begun and interrupted; nobody knows whether it was done";

/// The same of one that is done with its result.
pub(super) fn not_done(tool: &str) -> &'static str {
    match tool {
        DELEGATE => "it was stopped before there was an answer, also for whoever was to give it",
        _ => "it was interrupted before it was done: nothing of it has happened",
    }
}

impl Held {
    /// The call that a human is to decide about, and why it could not be made now if it could not.
    /// Nothing: there is nothing to decide, and the model is told.
    pub(super) async fn decidable(
        &mut self,
        index: usize,
    ) -> Result<Option<(ToolProposed, Option<String>)>, GatewayError> {
        let CallState { call, step, .. } = self.state.calls[index].clone();
        let what = match self.propose(&call).await {
            Ok(proposed) => return Ok(Some((proposed, None))),
            Err(what) => what,
        };
        if step.started() == 0 {
            self.complete(&call.id, ToolOutcome::Failed, what, Trust::Untrusted);
            return Ok(None);
        }
        // That it was done may be why it cannot be done now.
        match self.begun(&call.id).await? {
            Some(proposed) => Ok(Some((proposed, Some(what)))),
            None => {
                self.is_unknown(&call.id, &what);
                Ok(None)
            }
        }
    }

    /// A call as it was when it was begun.
    async fn begun(&self, call: &str) -> Result<Option<ToolProposed>, GatewayError> {
        let run = self.run.id;
        let tape = self.options.db.read(move |tx| tape::folded(tx, run, 0)).await?;
        Ok(tape.into_iter().rev().find_map(|entry| match entry.event {
            TapeEvent::ToolProposed(proposed) if proposed.call == call => Some(proposed),
            _ => None,
        }))
    }

    /// Says that nobody knows whether a call was done, and why it is not made again.
    pub(super) fn is_unknown(&mut self, call: &str, not_now: &str) {
        let told = format!(
            "this call was interrupted; nobody knows whether it was done, and it could not be done \
             now: {not_now}"
        );
        self.complete(call, ToolOutcome::Unknown, told, Trust::Untrusted);
    }
}

/// What a tape says about the calls that a run has begun that ends: nobody will look for them any more.
pub(crate) fn left_over(state: &RunState) -> Vec<TapeEvent> {
    let left = |call: &CallState| {
        let (outcome, content) = match call.with_result {
            false => (ToolOutcome::Unknown, UNKNOWN),
            true => (ToolOutcome::Failed, not_done(&call.call.tool)),
        };
        TapeEvent::ToolCompleted(ToolCompleted {
            call: call.call.id.clone(),
            outcome,
            content: content.to_owned(),
            artifact: None,
            trust: Trust::Operator,
        })
    };
    state.begun().map(left).collect()
}
