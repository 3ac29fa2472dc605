//! An event of a tape in one line, for people.

use palyra_common::tape::{A2uiUpdate, TapeEntry, TapeEvent};

use crate::output::short;

/// How much of a text is shown.
const CHARS: usize = 160;

/// What an event says.
pub(crate) fn said(entry: &TapeEntry) -> String {
    let said = match &entry.event {
        TapeEvent::RunQueued(queued) => match &queued.parent {
            Some(parent) => format!("for {}, by run {}", queued.agent, parent.run),
            None => format!("for {}", queued.agent),
        },
        TapeEvent::RunPhase(moved) => with_reason(moved.phase.as_str(), moved.reason.as_deref()),
        TapeEvent::InputMessage(input) => format!("{}: {}", input.sender, input.text),
        TapeEvent::ModelRequested(asked) => {
            format!("turn {}, attempt {}", asked.turn, asked.attempt)
        }
        TapeEvent::ModelDelta(delta) => delta.text.clone(),
        TapeEvent::ModelAbandoned(lost) => {
            let said = lost.said.as_ref().map(|said| format!(": {}", said.text));
            let said = said.unwrap_or_default();
            format!("turn {}, attempt {}: {}{said}", lost.turn, lost.attempt, lost.reason)
        }
        TapeEvent::ModelCompleted(answer) => {
            let calls: Vec<_> = answer.calls.iter().map(|call| call.tool.as_str()).collect();
            let calls =
                if calls.is_empty() { String::new() } else { format!(" [{}]", calls.join(", ")) };
            let instead: String =
                answer.passed_over.iter().map(|who| format!(" instead of {who},")).collect();
            format!("{}{instead}{calls}: {}", answer.model, answer.text)
        }
        TapeEvent::ToolProposed(proposed) => format!("{}: {}", proposed.tool, proposed.summary),
        TapeEvent::ToolGated(gated) => {
            format!("{}: {} because {}", gated.call, gated.decision.as_str(), gated.reason.as_str())
        }
        TapeEvent::ApprovalRequested(asked) => format!("{}: {}", asked.approval, asked.summary),
        TapeEvent::ApprovalDecided(decided) => {
            let by = decided.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
            let state = format!("{} is {}{by}", decided.approval, decided.state.as_str());
            with_reason(&state, decided.reason.as_deref())
        }
        TapeEvent::ToolStarted(started) => format!("{}, attempt {}", started.call, started.attempt),
        TapeEvent::ToolCompleted(done) => {
            format!("{} is {}: {}", done.call, done.outcome.as_str(), done.content)
        }
        TapeEvent::A2uiUpdate(shown) => shown_by(shown),
        TapeEvent::DeliveryEnqueued(sent) => format!("{} as {}", sent.connector, sent.envelope),
        TapeEvent::DeliverySettled(sent) => {
            format!("{} as {} is {}", sent.connector, sent.envelope, sent.state.as_str())
        }
        TapeEvent::RunFinished(finished) => {
            let end = format!("{}, {}", finished.phase.as_str(), finished.end.as_str());
            let end = with_reason(&end, finished.detail.as_deref());
            format!("{end}: {}", finished.answer)
        }
    };
    short(&said, CHARS)
}

/// Which message about which surface.
fn shown_by(shown: &A2uiUpdate) -> String {
    let names = shown.message.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let name = names.filter(|name| *name != "version").collect::<String>();
    format!("{} by {}: {name}", shown.surface, shown.call)
}

fn with_reason(what: &str, reason: Option<&str>) -> String {
    reason.map_or_else(|| what.to_owned(), |reason| format!("{what} ({reason})"))
}
