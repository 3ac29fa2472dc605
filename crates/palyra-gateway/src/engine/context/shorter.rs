//! What stands for the beginning of a conversation that does not fit: a summary that a model has made,
//! and for what is in none of it yet a plain excerpt.

use palyra_common::runtime_contracts::Trust;
use palyra_common::tape::TapeEvent;
use palyra_models::marked;
use palyra_policy::auxiliary::excerpt;

use super::built::{Built, Events};
use crate::engine::model::Thinker;
use crate::store::session_summaries::Summary;

/// The part of the room that a summary may take, and that an excerpt may.
const SUMMARY_SHARE: u64 = 3;
const EXCERPT_SHARE: u64 = 8;
/// The fewest tokens for an excerpt: less says nothing. And the most.
const LEAST_EXCERPT: u64 = 64;
const MOST_EXCERPT: u64 = 512;
/// About how many characters of a text are a token, at least.
const TOKEN_CHARS: u64 = 3;
/// How much of one text is taken over, in bytes: of what was said, and of what a tool gave.
const SAID_BYTES: usize = 2_048;
const RESULT_BYTES: usize = 256;

/// A text that stands for others.
pub(super) struct Stands {
    pub(super) text: String,
    pub(super) trust: Trust,
    pub(super) weight: u64,
}

/// A summary as a model is shown it.
pub(super) fn summary(of: &Summary, room: u64, thinker: &dyn Thinker) -> Stands {
    let about = "summary of what was said before";
    stands(about, &of.text, of.trust, room / SUMMARY_SHARE, thinker)
}

/// How many tokens of the room are for an excerpt.
pub(super) fn room_for_excerpt(room: u64) -> u64 {
    let share = (room / EXCERPT_SHARE).min(MOST_EXCERPT);
    if share < LEAST_EXCERPT { 0 } else { share }
}

/// The beginning and the end of runs that are not shown, the newest first.
pub(super) fn left_out(runs: &[Events], room: u64, thinker: &dyn Thinker) -> Option<Stands> {
    if runs.is_empty() || room == 0 {
        return None;
    }
    let (text, trust) = transcript(runs.iter().rev());
    let about = "parts of what was said before, most of which is left out";
    Some(stands(about, &text, trust, room, thinker)).filter(|stands| stands.weight <= room)
}

fn stands(about: &str, text: &str, trust: Trust, room: u64, thinker: &dyn Thinker) -> Stands {
    let said = |most: u64| {
        let shown = excerpt(text, usize::try_from(most).unwrap_or(usize::MAX));
        match trust {
            Trust::Operator => format!("[{about}]\n{shown}\n[end of it]"),
            Trust::Untrusted => marked(about, &shown),
        }
    };
    let mut most = room.saturating_mul(TOKEN_CHARS);
    let mut shown = said(most);
    // Some scripts have more tokens than that.
    for _ in 0..4 {
        if thinker.tokens(&shown) <= room {
            break;
        }
        most /= 2;
        shown = said(most);
    }
    let weight = thinker.tokens(&shown);
    Stands { text: shown, trust, weight }
}

/// What was said in runs, in words, and how far the least trusted of it is trusted.
pub(in crate::engine) fn transcript<'a>(runs: impl Iterator<Item = &'a Events>) -> (String, Trust) {
    let (mut text, mut trust) = (String::new(), Trust::Operator);
    let mut line = |who: &str, said: &str, most: usize, of: Trust| {
        trust = trust.max(of);
        let shown = &said[..said.floor_char_boundary(most.min(said.len()))];
        if !shown.trim().is_empty() {
            let cut = if shown.len() < said.len() { " […]" } else { "" };
            text.push_str(&format!("{who}: {}{cut}\n", shown.trim()));
        }
    };
    for (_, entries) in runs {
        for entry in entries.iter().rev() {
            match &entry.event {
                TapeEvent::InputMessage(input) => {
                    line(&input.sender, &input.text, SAID_BYTES, input.trust);
                }
                TapeEvent::ModelCompleted(answer) => {
                    line("assistant", &answer.text, SAID_BYTES, answer.trust);
                }
                TapeEvent::ModelAbandoned(lost) => {
                    if let Some(said) = &lost.said {
                        line("assistant", &said.text, SAID_BYTES, said.trust);
                    }
                }
                TapeEvent::ToolCompleted(done) => {
                    line("result of a tool", &done.content, RESULT_BYTES, done.trust);
                }
                TapeEvent::RunQueued(_)
                | TapeEvent::RunPhase(_)
                | TapeEvent::ModelRequested(_)
                | TapeEvent::ModelDelta(_)
                | TapeEvent::ToolProposed(_)
                | TapeEvent::ToolGated(_)
                | TapeEvent::ApprovalRequested(_)
                | TapeEvent::ApprovalDecided(_)
                | TapeEvent::ToolStarted(_)
                | TapeEvent::DeliveryEnqueued(_)
                | TapeEvent::DeliverySettled(_)
                | TapeEvent::AuxTask(_)
                | TapeEvent::RunFinished(_) => {}
            }
        }
    }
    (text, trust)
}

/// Begins a conversation with what stands for the part of it that is not shown.
pub(super) fn begin(built: &mut Built, of: impl IntoIterator<Item = Stands>) {
    let mut of: Vec<Stands> = of.into_iter().collect();
    while let Some(last) = of.pop() {
        built.begin_with(last.text, last.trust);
    }
}
