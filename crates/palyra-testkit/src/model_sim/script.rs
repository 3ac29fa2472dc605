//! An answer as it goes out, event by event, with what goes wrong on the way.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use serde_json::Value;

use super::State;
use super::reply::{Fault, Gate, Reply};

/// Why a connection ends.
const BY_ORDER: &str = "cut by order";

/// The events of an answer in some dialect.
pub(super) struct Rendered {
    pub(super) events: Vec<String>,
    /// Where the text begins.
    pub(super) first_text: usize,
    /// An event with more text, and one with more arguments.
    pub(super) text: String,
    pub(super) argument: String,
}

enum Step {
    Send(String),
    Cut,
}

/// What is left of an answer. Dropped with something left, the client has gone.
struct Script {
    steps: VecDeque<Step>,
    /// Goes out again and again at the end.
    cycle: Option<String>,
    gate: Option<Gate>,
    pace: Option<Duration>,
    state: Arc<State>,
}

impl Script {
    async fn next(&mut self) -> Option<io::Result<String>> {
        if self.is_over() {
            return None;
        }
        if let Some(gate) = &self.gate {
            gate.pass().await;
        }
        if let Some(pace) = self.pace {
            tokio::time::sleep(pace).await;
        }
        match self.steps.pop_front() {
            Some(Step::Send(event)) => Some(Ok(event)),
            Some(Step::Cut) => {
                // What was sent before is to arrive, and goes out while there is nothing more.
                tokio::task::yield_now().await;
                Some(Err(io::Error::other(BY_ORDER)))
            }
            None => {
                // Somebody else wants a turn, too.
                tokio::task::yield_now().await;
                self.cycle.clone().map(Ok)
            }
        }
    }

    fn is_over(&self) -> bool {
        self.steps.is_empty() && self.cycle.is_none()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !self.is_over() {
            self.state.note_left();
        }
    }
}

/// The stream of a reply. `error` writes an error in the dialect.
pub(super) fn stream(
    reply: &Reply,
    rendered: Rendered,
    error: impl Fn(&str, &str) -> Value,
    state: Arc<State>,
) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    let Rendered { events, first_text, text, argument } = rendered;
    let mut script = Script {
        steps: events.into_iter().map(Step::Send).collect(),
        cycle: None,
        gate: None,
        pace: None,
        state,
    };
    let after_text = (first_text + 1).min(script.steps.len());
    for fault in &reply.faults {
        match fault {
            Fault::CutAfter(pieces) => {
                script.steps.truncate(first_text + pieces);
                script.steps.push_back(Step::Cut);
            }
            Fault::Malformed => {
                script.steps.insert(after_text, Step::Send("data: {\"oops\n\n".into()));
            }
            Fault::InStream { code, message } => {
                script.steps.truncate(after_text);
                let told = format!("event: error\ndata: {}\n\n", error(code, message));
                script.steps.push_back(Step::Send(told));
            }
            Fault::Endless | Fault::EndlessCall | Fault::EndlessEvent => {
                script.steps.truncate(after_text);
                script.cycle = Some(match fault {
                    Fault::Endless => text.repeat(64),
                    Fault::EndlessCall => argument.repeat(64),
                    _ => "data: ".to_owned() + &"x".repeat(64 << 10),
                });
            }
            Fault::Gated(gate) => script.gate = Some(gate.clone()),
            Fault::Paced(pace) => script.pace = Some(*pace),
            Fault::Status { .. } | Fault::NotAStream | Fault::Wrong(_) => {}
        }
    }
    stream::unfold(script, |mut script| async move {
        let event = script.next().await?;
        Some((event, script))
    })
}

/// A text word by word.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

pub(super) fn halves(text: &str) -> (&str, &str) {
    let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at));
    text.split_at(middle.unwrap_or(text.len()))
}
