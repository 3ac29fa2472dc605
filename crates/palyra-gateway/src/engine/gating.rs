//! From what a model wrote to a decision about it.

use palyra_common::agent::AgentSpec;
use palyra_common::runtime_contracts::{GateDecision, GateReason, ToolReach, Trust};
use palyra_common::tape::{Call, TapeEvent, ToolGated, ToolProposed};
use palyra_policy::gate::{Proposal, gate};
use serde_json::Value;

use crate::tool::{Arguments, Invocation, Toolbox, Weighed, payload_sha256};

/// What was decided about a call.
pub(crate) struct Gated {
    /// What goes onto the tape.
    pub(crate) events: Vec<TapeEvent>,
    /// What the model is told if it is refused, and how far that is trusted.
    pub(crate) refused: Option<(String, Trust)>,
}

impl Gated {
    fn in_words_of(self, trust: Trust) -> Self {
        Self { refused: self.refused.map(|(what, _)| (what, trust)), ..self }
    }
}

/// What a decision depends on besides the call.
pub(crate) struct Around<'a> {
    pub(crate) tools: &'a Toolbox,
    pub(crate) agent: &'a AgentSpec,
    pub(crate) trust: Trust,
    pub(crate) told: &'a [String],
}

/// Decides about a call. `invocation` has everything but the arguments.
pub(crate) async fn decide(around: &Around<'_>, call: &Call, invocation: Invocation) -> Gated {
    let Some(tool) = around.tools.get(&call.tool) else {
        let what = format!("there is no tool {}; use one of those that were offered", call.tool);
        return refused(call, GateReason::UnknownTool, what);
    };
    if !around.agent.may_use(&call.tool) {
        let what = format!("this agent may not use {}", call.tool);
        return refused(call, GateReason::NotAllowed, what);
    }
    let arguments = match Arguments::parse(&call.arguments) {
        Ok(arguments) => arguments,
        Err(error) => return refused(call, GateReason::InvalidArguments, error.to_string()),
    };
    if let Err(fault) = around.tools.check(&call.tool, &arguments.value) {
        return refused(call, GateReason::InvalidArguments, fault.to_string());
    }
    let said = provenance(&arguments.value, around.told);
    let invocation = Invocation { arguments: arguments.value, ..invocation };
    let weighed = match tool.weigh(&invocation).await {
        Ok(weighed) => weighed,
        Err(fault) => {
            let refused = refused(call, GateReason::InvalidArguments, fault.to_string());
            // What a tool found may be somebody else's words.
            return refused.in_words_of(Trust::Untrusted);
        }
    };
    let Weighed { effect, risk, reach, .. } = weighed;
    let (decision, reason) = gate(&Proposal { effect, risk, reach, context: around.trust, said });
    let proposed = proposal(&invocation, &call.tool, arguments.text, weighed);
    let gated = ToolGated { call: call.id.clone(), decision, reason };
    let events = vec![TapeEvent::ToolProposed(proposed), TapeEvent::ToolGated(gated)];
    Gated { events, refused: None }
}

/// The call in the form that is hashed.
pub(crate) fn proposal(
    invocation: &Invocation,
    tool: &str,
    arguments: String,
    weighed: Weighed,
) -> ToolProposed {
    let Weighed { effect, risk, reach, summary, bindings, with_result } = weighed;
    let sha = payload_sha256(invocation.run, &invocation.call, tool, &arguments, &bindings);
    ToolProposed {
        call: invocation.call.clone(),
        tool: tool.to_owned(),
        arguments,
        bindings,
        payload_sha256: sha,
        effect,
        risk,
        reach,
        summary,
        with_result,
    }
}

fn refused(call: &Call, reason: GateReason, what: String) -> Gated {
    let gated = ToolGated { call: call.id.clone(), decision: GateDecision::Refuse, reason };
    Gated { events: vec![TapeEvent::ToolGated(gated)], refused: Some((what, Trust::Operator)) }
}

/// Where what a call says comes from: from operators only if they have said every text in it.
fn provenance(arguments: &Value, told: &[String]) -> Trust {
    let from_operator = match arguments {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => {
            text.is_empty() || told.iter().any(|told| told.contains(text.as_str()))
        }
        Value::Array(list) => list.iter().all(|item| provenance(item, told) == Trust::Operator),
        Value::Object(map) => map.values().all(|item| provenance(item, told) == Trust::Operator),
    };
    if from_operator { Trust::Operator } else { Trust::Untrusted }
}

/// What a question is about, for whoever filters them.
pub(crate) fn subject(
    tool: &str,
    reach: ToolReach,
) -> palyra_common::runtime_contracts::ApprovalSubject {
    use palyra_common::runtime_contracts::ApprovalSubject;
    match (tool, reach) {
        ("channel.send", ToolReach::Elsewhere) => ApprovalSubject::ChannelSend,
        _ => ApprovalSubject::Tool,
    }
}
