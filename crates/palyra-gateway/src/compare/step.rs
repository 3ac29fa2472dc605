//! An event without what differs between any two runs: ids, times, digests and what it cost.

use palyra_common::ids::{ApprovalId, AuxiliaryTaskId, EnvelopeId, RunId};
use palyra_common::tape::{
    A2uiUpdate, ApprovalDecided, ApprovalRequested, Brought, DeliveryEnqueued, Input, Queued,
    RunFinished, TapeEvent, ToolCompleted, ToolProposed,
};
use palyra_common::time::Timestamp;

/// What takes the place of the name of any run.
const ANY_RUN: &str = "RUN";

/// What can be compared of an event; nothing where it is no decision and no result, such as when a
/// worker took the run.
pub(super) fn of(run: RunId, event: &TapeEvent) -> Option<TapeEvent> {
    let own = run.to_string();
    let nameless = |text: &str| text.replace(&own, ANY_RUN);
    Some(match event {
        TapeEvent::RunPhase(_)
        | TapeEvent::ModelRequested(_)
        | TapeEvent::ModelDelta(_)
        | TapeEvent::DeliverySettled(_) => return None,
        TapeEvent::RunQueued(queued) => {
            TapeEvent::RunQueued(Queued { parent: None, ..queued.clone() })
        }
        TapeEvent::InputMessage(input) => {
            let (sender, connector) = (String::new(), None);
            TapeEvent::InputMessage(Input { sender, connector, ..input.clone() })
        }
        TapeEvent::InputBrought(brought) => {
            TapeEvent::InputBrought(Brought { sender: String::new(), ..brought.clone() })
        }
        TapeEvent::ModelAbandoned(_) | TapeEvent::ModelCompleted(_) | TapeEvent::AuxTask(_) => {
            free_of_charge(event)
        }
        TapeEvent::ToolProposed(proposed) => {
            let payload_sha256 = String::new();
            TapeEvent::ToolProposed(ToolProposed { payload_sha256, ..proposed.clone() })
        }
        TapeEvent::ToolGated(_) | TapeEvent::ToolStarted(_) => event.clone(),
        TapeEvent::ApprovalRequested(asked) => {
            let (approval, expires_at) = (any_approval(), Timestamp::UNIX_EPOCH);
            TapeEvent::ApprovalRequested(ApprovalRequested {
                approval,
                expires_at,
                ..asked.clone()
            })
        }
        TapeEvent::ApprovalDecided(decided) => {
            let (approval, by) = (any_approval(), None);
            TapeEvent::ApprovalDecided(ApprovalDecided { approval, by, ..decided.clone() })
        }
        TapeEvent::ToolCompleted(done) => TapeEvent::ToolCompleted(ToolCompleted {
            content: nameless(&done.content),
            artifact: None,
            ..done.clone()
        }),
        TapeEvent::A2uiUpdate(shown) => TapeEvent::A2uiUpdate(A2uiUpdate {
            surface: nameless(shown.surface.as_str()).parse().ok()?,
            message: nameless(&shown.message.to_string()).parse().ok()?,
            ..shown.clone()
        }),
        TapeEvent::DeliveryEnqueued(sent) => {
            let envelope: EnvelopeId = nameless(sent.envelope.as_str()).parse().ok()?;
            TapeEvent::DeliveryEnqueued(DeliveryEnqueued { envelope, ..sent.clone() })
        }
        TapeEvent::RunFinished(finished) => TapeEvent::RunFinished(RunFinished {
            answer: nameless(&finished.answer),
            hint: None,
            limits: None,
            ..finished.clone()
        }),
    })
}

/// What a model has said, whatever it took.
fn free_of_charge(event: &TapeEvent) -> TapeEvent {
    let mut free = event.clone();
    match &mut free {
        TapeEvent::ModelAbandoned(lost) => (lost.charged_tokens, lost.charged_micros) = (0, 0),
        TapeEvent::AuxTask(task) => {
            task.task = AuxiliaryTaskId::from_parts(Timestamp::UNIX_EPOCH, 0);
            (task.reserved_tokens, task.reserved_micros) = (0, 0);
            (task.charged_tokens, task.charged_micros) = (0, 0);
        }
        TapeEvent::ModelCompleted(answer) => {
            (answer.input_tokens, answer.output_tokens, answer.cost_micros) = (0, 0, 0);
            answer.prompt_sha256.clear();
        }
        _ => {}
    }
    free
}

fn any_approval() -> ApprovalId {
    ApprovalId::from_parts(Timestamp::UNIX_EPOCH, 0)
}
