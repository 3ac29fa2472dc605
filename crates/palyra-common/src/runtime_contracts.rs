//! The runtime vocabulary: every closed set of words that crosses a process, a wire or a row.
//!
//! Each enum is defined once, by `runtime_contract_enum!`, with its canonical wire values and the
//! other spellings that are still understood. Parsing trims, ignores ASCII case and accepts the
//! aliases; writing is always canonical. [`registry`] hands out a description of all of them, from
//! which `schemas/json/runtime-contracts.json` is made.
//!
//! Variants order as declared; where that order means something, the enum says so.

mod access;
mod auxiliary;
mod channels;
mod define;
mod descriptor;
mod hooks;
mod outbox;
mod runs;
mod surfaces;
mod tape;
#[cfg(test)]
mod tests;
mod tools;

pub use access::{Role, Scope, SkillTrustState};
pub use auxiliary::{
    AuxiliaryFailureMode, AuxiliaryPreference, AuxiliaryPurpose, AuxiliaryReason,
    AuxiliaryTaskKind, AuxiliaryTaskState, ModelLatency,
};
pub use channels::{
    BroadcastStrategy, ConnectorContact, ConnectorEventKind, ConnectorLiveness, ConnectorReadiness,
    ConnectorSaturation, DirectMessagePolicy, InboundScope, InboundState, RouteReason,
};
pub use descriptor::{ContractDescriptor, ContractValue, ParseContractError};
pub use hooks::{HookDecision, HookEvent, RunLifecycleHookPhase};
pub use outbox::{DeadLetterReason, OutboxEventKind, OutboxState, RetryClass, UnknownRule};
pub use runs::{RunEnd, RunLifecyclePhase};
pub use surfaces::{HandoffIntent, HandoffSection, TelemetrySurface};
pub use tape::TapeEventKind;
pub use tools::{
    ApprovalState, ApprovalSubject, GateDecision, GateReason, ModelFinish, RiskLevel, ToolEffect,
    ToolOutcome, ToolReach, Trust,
};

pub(crate) use define::runtime_contract_enum;

/// One entry per module that defines contracts. Each `CONTRACTS` is made by the macro from the
/// enums themselves; a module that is missing here has an unused constant, which fails the build.
const MODULES: &[&[&ContractDescriptor]] = &[
    runs::CONTRACTS,
    tape::CONTRACTS,
    auxiliary::CONTRACTS,
    tools::CONTRACTS,
    hooks::CONTRACTS,
    outbox::CONTRACTS,
    channels::CONTRACTS,
    access::CONTRACTS,
    surfaces::CONTRACTS,
    crate::handoff::CONTRACTS,
    crate::telemetry::CONTRACTS,
    crate::deployment_profiles::CONTRACTS,
    crate::api::CONTRACTS,
    crate::api::CONSOLE_CONTRACTS,
];

/// Every runtime contract, in a fixed order.
pub fn registry() -> impl Iterator<Item = &'static ContractDescriptor> {
    MODULES.iter().copied().flatten().copied()
}
