//! An answer as it comes in, within limits.

use palyra_common::text::strip_nul;

use crate::error::Problem;
use crate::names::ToolNames;
use crate::port::{Delta, DeltaSink};
use crate::request::{Completion, FinishReason, ModelRequest, ToolCall, Usage};
use crate::tokens::{count_request, count_tokens};

/// All that an answer may hold. Far more than any model writes in one go.
const TEXT_BYTES: usize = 1 << 20;
const CALLS: usize = 64;
const CALL_BYTES: usize = 1 << 20;

/// What has come so far.
pub(crate) struct Incoming<'a> {
    sink: &'a mut dyn DeltaSink,
    text: String,
    calls: Vec<OpenCall>,
    call_bytes: usize,
    /// The model that says that it answers.
    pub(crate) model: Option<String>,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) usage: Told,
}

/// What the provider tells of the usage; the last word counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Told {
    pub(crate) input: Option<u64>,
    pub(crate) cached: Option<u64>,
    pub(crate) output: Option<u64>,
}

#[derive(Debug)]
struct OpenCall {
    slot: Option<u64>,
    call: ToolCall,
}

impl<'a> Incoming<'a> {
    pub(crate) fn new(sink: &'a mut dyn DeltaSink) -> Self {
        Self {
            sink,
            text: String::new(),
            calls: Vec::new(),
            call_bytes: 0,
            model: None,
            finish: None,
            usage: Told::default(),
        }
    }

    /// Whether nothing has come that an answer is made of.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty() && self.finish.is_none()
    }

    /// Text goes on.
    pub(crate) fn say(&mut self, text: &str) -> Result<(), Problem> {
        let text = strip_nul(text);
        if text.is_empty() {
            return Ok(());
        }
        if self.text.len() + text.len() > TEXT_BYTES {
            return Err(Problem::TooLarge { what: "bytes of text", limit: TEXT_BYTES });
        }
        self.text.push_str(&text);
        self.sink.delta(Delta::Text(&text));
        Ok(())
    }

    /// A piece of the call that stands in `slot`; it begins with the first piece.
    ///
    /// Some servers give no slot, or the same one to all: another id is another call, and without
    /// either a name begins one.
    pub(crate) fn call(
        &mut self,
        slot: Option<u64>,
        id: &str,
        name: &str,
        arguments: &str,
    ) -> Result<(), Problem> {
        let begins = slot.is_none() && id.is_empty() && !name.is_empty();
        let open = self.calls.iter().rposition(|open| slot.is_none() || open.slot == slot);
        let same = open.filter(|at| {
            let open = &self.calls[*at].call.id;
            !begins && (id.is_empty() || open == id || (slot.is_some() && open.is_empty()))
        });
        let at = match same {
            Some(at) => at,
            None if self.calls.len() == CALLS => {
                return Err(Problem::TooLarge { what: "tool calls", limit: CALLS });
            }
            None => {
                let [id, name, arguments] = [const { String::new() }; 3];
                self.calls.push(OpenCall { slot, call: ToolCall { id, name, arguments } });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at].call;
        call.arguments.push_str(&strip_nul(arguments));
        // Some say them late, some again with each piece.
        for (kept, said) in [(&mut call.id, id), (&mut call.name, name)] {
            if kept.is_empty() {
                *kept = strip_nul(said).into_owned();
            }
        }
        self.call_bytes += id.len() + name.len() + arguments.len();
        if self.call_bytes > CALL_BYTES {
            return Err(Problem::TooLarge { what: "bytes of tool calls", limit: CALL_BYTES });
        }
        Ok(())
    }

    /// The whole, once it has come.
    pub(crate) fn complete(self, request: &ModelRequest, names: &ToolNames) -> Completion {
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        for (number, OpenCall { mut call, .. }) in self.calls.into_iter().enumerate() {
            call.name = names.ours(call.name);
            // A tool without arguments.
            if call.arguments.trim().is_empty() {
                call.arguments = "{}".into();
            }
            // A result has to say whose it is.
            while call.id.is_empty() || calls.iter().any(|before| before.id == call.id) {
                call.id.push_str(&format!("call_{number}"));
            }
            calls.push(call);
        }
        let finish = match self.finish {
            // Some say that they stop where they ask for tools.
            None | Some(FinishReason::Stop) if !calls.is_empty() => FinishReason::ToolCalls,
            Some(FinishReason::ToolCalls) if calls.is_empty() => FinishReason::Stop,
            finish => finish.unwrap_or(FinishReason::Stop),
        };
        let usage = self.usage.or_counted(request, &self.text, &calls);
        let model = self.model.unwrap_or_else(|| request.model.clone());
        Completion { text: self.text, calls, finish, usage, model }
    }
}

impl Told {
    fn or_counted(self, request: &ModelRequest, text: &str, calls: &[ToolCall]) -> Usage {
        let written = || {
            let calls =
                calls.iter().map(|call| count_tokens(&call.name) + count_tokens(&call.arguments));
            count_tokens(text) + calls.sum::<u64>()
        };
        Usage {
            input_tokens: self.input.unwrap_or_else(|| count_request(request)),
            output_tokens: self.output.unwrap_or_else(written),
            cached_input_tokens: self.cached.unwrap_or(0),
        }
    }
}
