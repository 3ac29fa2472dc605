//! What whoever began a run brought with them, as a part of its conversation.

use palyra_common::runtime_contracts::Trust;
use palyra_common::tape::{Brought, BroughtImage, BroughtMessage};
use palyra_models::{Part, ToolCall, ToolOutcome as Told, ToolResult, Turn, marked};

use super::built::{Built, Cut, head};
use crate::engine::pictures::placeholder;

/// Where instructions stand that came with a request: beside what its people say.
const PROGRAM: &str = "Instructions of the program through which this comes:\n";

impl Built {
    /// `is_new`: the model has not thought about its results yet.
    pub(super) fn brought(&mut self, brought: &Brought, cut: Cut, is_new: bool) {
        self.trust = self.trust.max(brought.trust());
        for message in &brought.messages {
            match message {
                BroughtMessage::User { text, images, trust } => {
                    self.shown(images, cut);
                    self.says(&brought.sender, "", text, (*trust, cut.asked));
                }
                BroughtMessage::Program { text, trust } => {
                    self.says(&brought.sender, PROGRAM, text, (*trust, cut.asked));
                }
                // No provider takes that.
                BroughtMessage::Assistant { text, calls, .. }
                    if text.trim().is_empty() && calls.is_empty() => {}
                BroughtMessage::Assistant { text, calls, .. } => {
                    let call = |call: &palyra_common::tape::Call| ToolCall {
                        id: call.id.clone(),
                        name: call.tool.clone(),
                        arguments: call.arguments.clone(),
                    };
                    let calls = calls.iter().map(call).collect();
                    self.turns.push(Turn::Assistant { text: text.clone(), calls });
                }
                BroughtMessage::Tool { call, content, trust } => {
                    let shown = head(content, if is_new { cut.new } else { cut.old });
                    let content = match trust {
                        Trust::Operator => shown,
                        Trust::Untrusted => marked("tool result", &shown),
                    };
                    let (call_id, outcome) = (call.clone(), Told::Done);
                    self.came(ToolResult { call_id, content, outcome });
                }
            }
        }
    }

    fn shown(&mut self, images: &[BroughtImage], cut: Cut) {
        // Of earlier runs they are not shown again.
        let is_earlier = cut.asked != usize::MAX;
        for image in images {
            let text = match is_earlier {
                true => "[a picture that is not shown any more]".to_owned(),
                false => placeholder(image),
            };
            self.asks(Part::text(text));
        }
    }

    fn says(&mut self, sender: &str, as_what: &str, text: &str, (trust, most): (Trust, usize)) {
        if text.trim().is_empty() {
            return;
        }
        let shown = format!("{as_what}{}", head(text, most));
        let shown = match trust {
            Trust::Operator => shown,
            Trust::Untrusted => marked(&format!("from {sender}"), &shown),
        };
        if trust == Trust::Operator {
            self.told.push(text.to_owned());
        }
        self.asks(Part::text(shown));
    }

    /// A result goes with its call; that of a call of an earlier run waits for it.
    fn came(&mut self, result: ToolResult) {
        let is_asked = |turn: &Turn| match turn {
            Turn::Assistant { calls, .. } => calls.iter().any(|call| call.id == result.call_id),
            Turn::User { .. } | Turn::ToolResults { .. } => false,
        };
        match self.turns.iter().any(is_asked) {
            true => self.add_result(result),
            false => self.late.push(result),
        }
    }

    /// Puts results to the calls of earlier runs, where words stand for them that there was none. What
    /// is not shown of its call any more is shown as it is.
    pub(super) fn settle_late(&mut self) {
        for late in std::mem::take(&mut self.late) {
            let results = self.turns.iter_mut().flat_map(|turn| match turn {
                Turn::ToolResults { results } => results.as_mut_slice(),
                Turn::User { .. } | Turn::Assistant { .. } => &mut [],
            });
            match results.into_iter().find(|result| result.call_id == late.call_id) {
                Some(result) => *result = late,
                None => self.asks(Part::text(late.content)),
            }
        }
    }
}
