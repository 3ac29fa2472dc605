//! Whether a tool call is made, asked about or refused. Operators' policies may make this stricter.

use palyra_common::runtime_contracts::{
    GateDecision, GateReason, RiskLevel, ToolEffect, ToolReach, Trust,
};

#[cfg(test)]
mod tests;

/// What decides about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposal {
    /// What it does to the world.
    pub effect: ToolEffect,
    /// How bad a mistake would be.
    pub risk: RiskLevel,
    /// What it touches.
    pub reach: ToolReach,
    /// The least trusted text that the model has seen.
    pub context: Trust,
    /// Where what the call says to the outside comes from.
    pub said: Trust,
}

/// The decision and its reason.
pub fn gate(proposal: &Proposal) -> (GateDecision, GateReason) {
    let Proposal { effect, risk, reach, context, said } = *proposal;
    let allow = |reason| (GateDecision::Allow, reason);
    let ask = |reason| (GateDecision::Ask, reason);
    match (effect, context) {
        (ToolEffect::ReadOnly, _) if reach != ToolReach::Elsewhere => {
            allow(GateReason::ReadsOwnData)
        }
        (ToolEffect::ReadOnly, Trust::Operator) => allow(GateReason::ReadsClean),
        (ToolEffect::ReadOnly, Trust::Untrusted) => match said {
            Trust::Operator => allow(GateReason::ReadsAsTold),
            Trust::Untrusted => ask(GateReason::CarriesData),
        },
        (ToolEffect::Idempotent, Trust::Operator) => allow(GateReason::IdempotentClean),
        (ToolEffect::Idempotent, Trust::Untrusted) => ask(GateReason::UntrustedContext),
        (ToolEffect::SideEffect, _) => match risk {
            RiskLevel::Low => allow(GateReason::LowRisk),
            RiskLevel::Medium | RiskLevel::High | RiskLevel::Critical => ask(GateReason::Risky),
        },
    }
}
