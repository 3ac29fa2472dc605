//! One message and its answer.

use std::io::{IsTerminal, Read};

use palyra_common::api::Submitted;
use palyra_common::ids::{ApprovalId, RunId, SessionId};
use palyra_common::runtime_contracts::{RunEnd, RunLifecyclePhase};
use serde::Serialize;
use tokio::time::Instant;

use super::lines::Lines;
use super::watch::{Seen, Watch};
use super::{Arguments, say};
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// The longest message, as the daemon takes it.
const MESSAGE_BYTES: u64 = 256 * 1024;

/// What programs are told.
#[derive(Debug, Serialize)]
struct Told {
    session: SessionId,
    run: RunId,
    /// Where the run is; absent if it was left before it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<RunLifecyclePhase>,
    /// Why it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<RunEnd>,
    /// The answer, whole or in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Questions that it waits for.
    approvals: Vec<ApprovalId>,
}

pub(super) async fn run(context: &Context, message: String, arguments: &Arguments) -> Outcome {
    let (out, client) = (context.out(), context.client()?);
    let text = message.trim_end().to_owned();
    if text.trim().is_empty() {
        return Err(Failure::asked("there is nothing in the message"));
    }
    let found = arguments.place.find(&client).await?;
    let Submitted { run, session } = say(out, &client, found.session.id, text).await?;
    // With --json nobody is asked.
    let asks = !out.is_json() && std::io::stdin().is_terminal();
    let mut watch = Watch::new(out, &client, asks.then(Lines::new))?;
    let deadline = arguments.wait.map(|wait| Instant::now() + wait.into());
    let seen = watch.watch(run, deadline).await?;
    let told = match seen {
        Seen::Finished(finished) => Told {
            session,
            run,
            phase: Some(finished.phase),
            end: Some(finished.end),
            answer: Some(finished.answer),
            detail: finished.detail,
            hint: finished.hint,
            approvals: Vec::new(),
        },
        Seen::Left(phase, approvals) => {
            out.note(&format!(
                "The run goes on: `palyra runs tail {run}` shows what becomes of it."
            ));
            let (end, answer, detail, hint) = (None, None, None, None);
            Told { session, run, phase, end, answer, detail, hint, approvals }
        }
    };
    if out.is_json() {
        out.show(&told, |_, _| String::new())?;
    }
    match told.phase {
        Some(RunLifecyclePhase::Completed) => Ok(()),
        Some(_) | None => {
            out.note(&format!("What happened: `palyra runs tail {run}`"));
            Err(Failure::Faults)
        }
    }
}

/// The message of a command: as it was given, or all of standard input.
pub(super) fn message(given: Option<&str>) -> Result<String, Failure> {
    match given {
        Some(message) if message != "-" => Ok(message.to_owned()),
        Some(_) | None => {
            let mut message = String::new();
            let read = std::io::stdin().lock().take(MESSAGE_BYTES + 1).read_to_string(&mut message);
            match read {
                Ok(read) if read as u64 > MESSAGE_BYTES => {
                    Err(Failure::asked(format!("a message has at most {MESSAGE_BYTES} bytes")))
                }
                Ok(_) => Ok(message),
                Err(error) => Err(Failure::asked(format!("standard input: {error}"))),
            }
        }
    }
}
