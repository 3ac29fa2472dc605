use super::runtime_contract_enum;

runtime_contract_enum! {
    /// What a tool does to the world, and so what may follow a call whose outcome was lost.
    pub enum ToolEffect {
        /// Changes nothing: may be run again and in parallel.
        ReadOnly = "read_only",
        /// Running it twice is running it once: may be run again.
        Idempotent = "idempotent",
        /// Changes something each time: a lost outcome is a question for a human.
        SideEffect = "side_effect",
    }

    /// How bad a mistake would be, from the least to the worst.
    pub enum RiskLevel {
        /// Nothing that matters.
        Low = "low",
        /// Annoying, and easily put right.
        Medium = "medium",
        /// Visible to others or hard to put right.
        High = "high",
        /// Cannot be put right.
        Critical = "critical",
    }

    /// Where a question to a human is in its life. All but the first are final.
    pub enum ApprovalState {
        /// Nobody has decided yet.
        Pending = "pending",
        /// A human said yes.
        Approved = "approved",
        /// A human said no.
        Denied = "denied",
        /// Nobody decided in time.
        Expired = "expired",
        /// The question no longer stands.
        Cancelled = "cancelled",
    }

    /// What a question to a human is about.
    pub enum ApprovalSubject {
        /// A call of a tool.
        Tool = "tool",
        /// A message to another conversation.
        ChannelSend = "channel_send",
        /// A change of a message that was sent.
        MessageMutation = "message_mutation",
        /// A secret that is to be read.
        SecretAccess = "secret_access",
        /// Something done in a browser.
        BrowserAction = "browser_action",
        /// A device that wants in.
        DevicePairing = "device_pairing",
        /// Something of which nobody knows whether it was done.
        UnknownOutcome = "unknown_outcome",
        /// Whether a skill may run.
        SkillTrust = "skill_trust",
    }

    /// Where a text comes from, and so how far it is trusted.
    pub enum Trust {
        /// An operator said it, or it is our own.
        Operator = "operator",
        /// Anybody else: a participant of a channel, a page, a file, what a tool gave.
        Untrusted = "untrusted",
    }

    /// What a tool call touches.
    pub enum ToolReach {
        /// What belongs to the agent: its workspace, its sessions, its memory.
        OwnData = "own_data",
        /// The conversation that asked.
        Here = "here",
        /// Anything else.
        Elsewhere = "elsewhere",
    }

    /// What becomes of a call of a tool.
    pub enum GateDecision {
        /// It is made.
        Allow = "allow",
        /// A human is asked first.
        Ask = "ask",
        /// It is not made, and the model is told why.
        Refuse = "refuse",
    }

    /// Why a call of a tool is made, asked about or refused.
    pub enum GateReason {
        /// There is no such tool.
        UnknownTool = "unknown_tool",
        /// The agent may not use it.
        NotAllowed = "not_allowed",
        /// Its arguments are not what it takes.
        InvalidArguments = "invalid_arguments",
        /// It only reads what belongs to the agent.
        ReadsOwnData = "reads_own_data",
        /// It only reads, and nothing untrusted is in the context.
        ReadsClean = "reads_clean",
        /// It only reads, and what it says to the outside was said by an operator.
        ReadsAsTold = "reads_as_told",
        /// It says something to the outside that did not come from an operator.
        CarriesData = "carries_data",
        /// Doing it twice is doing it once, and nothing untrusted is in the context.
        IdempotentClean = "idempotent_clean",
        /// Something untrusted is in the context.
        UntrustedContext = "untrusted_context",
        /// It answers those who asked.
        LowRisk = "low_risk",
        /// A mistake would matter.
        Risky = "risky",
        /// Nobody knows whether it was done.
        OutcomeUnknown = "outcome_unknown",
    }

    /// How a call of a tool ended.
    pub enum ToolOutcome {
        /// It gave its result.
        Done = "done",
        /// It said what is wrong.
        Failed = "failed",
        /// It was not made: the gate refused it.
        Refused = "refused",
        /// It was not made: a human said no.
        Denied = "denied",
        /// It was not made: no human decided in time.
        Expired = "expired",
        /// It was interrupted, and nobody knows whether it was done.
        Unknown = "unknown",
    }

    /// Why a model stopped.
    pub enum ModelFinish {
        /// It had said what it wanted to say.
        Stop = "stop",
        /// It wants tools to be called.
        ToolCalls = "tool_calls",
        /// It may not say more.
        Length = "length",
        /// It refused.
        Refused = "refused",
    }
}
