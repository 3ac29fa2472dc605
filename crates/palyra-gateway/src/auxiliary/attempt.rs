//! One attempt at a task.

use palyra_common::auxiliary::{AuxiliaryInput, AuxiliaryOutput, contract};
use palyra_common::text::strip_nul;
use palyra_common::time::Duration;
use palyra_connector_core::Outgoing;
use palyra_models::{FinishReason, ModelRequest, Unheard};
use palyra_policy::auxiliary::Came;
use palyra_policy::budget::Amount;

use super::contract::read;
use crate::engine::{Thinker, Thought};

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tried {
    pub(crate) came: Came,
    /// The output, if it meets the contract.
    pub(crate) output: Option<AuxiliaryOutput>,
    /// What the model wrote.
    pub(crate) answer: String,
    /// Which model that was.
    pub(crate) model: Option<String>,
    /// What it is charged with.
    pub(crate) charged: Amount,
    /// What is wrong, in words.
    pub(crate) detail: Option<String>,
    /// Not to be tried again before this is over.
    pub(crate) after: Option<Duration>,
}

impl Tried {
    /// Nobody heard how it ended: it is charged with all that was set aside.
    fn lost(came: Came, charged: Amount, detail: String) -> Self {
        let (output, answer, model) = (None, String::new(), None);
        Self { came, output, answer, model, charged, detail: Some(detail), after: None }
    }
}

/// Asks one of the models, for as long as the contract allows. Dropping the future ends the call, which
/// is to be charged with all that was set aside then.
pub(crate) async fn try_once(
    thinker: &dyn Thinker,
    outgoing: &dyn Outgoing,
    (models, reserved): (&[String], Amount),
    input: &AuxiliaryInput,
    request: &ModelRequest,
) -> Tried {
    let within = contract(input.kind()).within;
    let mut unheard = Unheard;
    let call = thinker.think(models, 0, request, &mut unheard);
    match tokio::time::timeout(within.into(), call).await {
        Err(_) => {
            let what = format!("no model answered within {within}");
            Tried::lost(Came::TimedOut, reserved, what)
        }
        Ok(Err(error)) => {
            let (came, after) = (Came::Failed(error.class), error.after);
            let detail = format!("{}: {}", error.what, error.hint);
            Tried { after, ..Tried::lost(came, error.owed, outgoing.clean(&detail)) }
        }
        Ok(Ok(thought)) => weighed(input, request, thought, outgoing),
    }
}

/// Whether an answer meets its contract.
fn weighed(
    input: &AuxiliaryInput,
    request: &ModelRequest,
    thought: Thought,
    outgoing: &dyn Outgoing,
) -> Tried {
    let Thought { completion, spent, .. } = thought;
    let answer = outgoing.clean(&strip_nul(&completion.text));
    let most = u64::from(request.max_output_tokens);
    let written = completion.usage.output_tokens;
    let (came, output, detail) = match completion.finish {
        FinishReason::Refused => {
            (Came::Refused, None, Some("the model refused to answer".to_owned()))
        }
        _ if written > most => {
            let what = format!("the model wrote {written} tokens, and may write {most}");
            (Came::TooLong, None, Some(what))
        }
        FinishReason::Length => {
            let what = format!("it was cut off at {most} tokens: it has to be shorter");
            (Came::Invalid, None, Some(what))
        }
        FinishReason::Stop | FinishReason::ToolCalls => match read(input, &answer) {
            Ok(output) => (Came::Valid, Some(output), None),
            Err(fault) => (Came::Invalid, None, Some(fault)),
        },
    };
    let model = Some(completion.model);
    Tried { came, output, answer, model, charged: spent, detail, after: None }
}
