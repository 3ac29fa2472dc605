use super::runtime_contract_enum;

runtime_contract_enum! {
    /// A point in a run at which plugins are asked for a decision.
    pub enum RunLifecycleHookPhase {
        /// Before the first step.
        BeforeRun = "before_run" ["run:before_run"],
        /// Before a tool call, as the last automatic stage of the gate.
        BeforeTool = "before_tool" ["run:before_tool"],
        /// After a tool call.
        AfterTool = "after_tool" ["run:after_tool"],
        /// Before a reply is put into the outbox.
        BeforeDelivery = "before_delivery" ["run:before_delivery"],
        /// After the last step.
        AfterRun = "after_run" ["run:after_run"],
    }

    /// What a hook decides, from the weakest to the strongest: of several, the strongest wins.
    pub enum HookDecision {
        /// Go on.
        Continue = "continue",
        /// Go on, with a note on the tape.
        Annotate = "annotate",
        /// Go on with a changed reply; only before a delivery.
        Transform = "transform",
        /// Ask a human.
        RequestApproval = "request_approval",
        /// Do not do this one thing.
        Block = "block",
        /// End the run.
        FailRun = "fail_run",
    }

    /// What a plugin can be bound to.
    pub enum HookEvent {
        /// The gateway has started.
        GatewayStartup = "gateway:startup",
        /// A skill was switched on.
        SkillEnabled = "skill:enabled",
        /// A skill was switched off.
        SkillDisabled = "skill:disabled",
        /// A skill was put into quarantine.
        SkillQuarantined = "skill:quarantined",
        /// A run is about to start.
        RunBeforeRun = "run:before_run",
        /// A run is about to call a tool.
        RunBeforeTool = "run:before_tool",
        /// A run has called a tool.
        RunAfterTool = "run:after_tool",
        /// A run is about to reply.
        RunBeforeDelivery = "run:before_delivery",
        /// A run has ended.
        RunAfterRun = "run:after_run",
        /// A message could not be delivered and was set aside.
        ChannelDeadLetter = "channel:dead_letter",
        /// A human is being asked.
        ApprovalRequested = "approval:requested",
    }
}

impl HookEvent {
    /// The point in a run that this event is, for those that ask for a decision. The others are
    /// delivered afterwards, from the journal.
    pub const fn lifecycle_phase(self) -> Option<RunLifecycleHookPhase> {
        match self {
            Self::RunBeforeRun => Some(RunLifecycleHookPhase::BeforeRun),
            Self::RunBeforeTool => Some(RunLifecycleHookPhase::BeforeTool),
            Self::RunAfterTool => Some(RunLifecycleHookPhase::AfterTool),
            Self::RunBeforeDelivery => Some(RunLifecycleHookPhase::BeforeDelivery),
            Self::RunAfterRun => Some(RunLifecycleHookPhase::AfterRun),
            Self::GatewayStartup
            | Self::SkillEnabled
            | Self::SkillDisabled
            | Self::SkillQuarantined
            | Self::ChannelDeadLetter
            | Self::ApprovalRequested => None,
        }
    }
}
