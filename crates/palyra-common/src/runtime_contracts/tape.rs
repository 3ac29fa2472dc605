use super::runtime_contract_enum;

runtime_contract_enum! {
    /// The kind of one event on a run's tape.
    pub enum TapeEventKind {
        /// The run was created.
        RunQueued = "run.queued",
        /// The run moved to another phase.
        RunPhase = "run.phase",
        /// A message for the run to answer.
        InputMessage = "input.message",
        /// Whoever began the run brought a conversation, and tools of their own.
        InputBrought = "input.brought",
        /// A model is about to be asked; carries the attempt.
        ModelRequested = "model.requested",
        /// A piece of a streamed answer.
        ModelDelta = "model.delta",
        /// An attempt was given up; readers drop its deltas.
        ModelAbandoned = "model.abandoned",
        /// A model answered; carries usage and finish reason.
        ModelCompleted = "model.completed",
        /// The model asked for a tool call.
        ToolProposed = "tool.proposed",
        /// The gate decided on a tool call, with its reason.
        ToolGated = "tool.gated",
        /// A human was asked.
        ApprovalRequested = "approval.requested",
        /// The human's decision, or its expiry.
        ApprovalDecided = "approval.decided",
        /// A tool call is about to be made.
        ToolStarted = "tool.started",
        /// A tool call ended, with its result or error.
        ToolCompleted = "tool.completed",
        /// A message to a user interface surface.
        A2uiUpdate = "a2ui.update",
        /// A reply was put into the outbox.
        DeliveryEnqueued = "delivery.enqueued",
        /// What became of a reply.
        DeliverySettled = "delivery.settled",
        /// A lifecycle hook decided.
        HookDecided = "hook.decided",
        /// An auxiliary task of this run changed state.
        AuxTask = "aux.task",
        /// The run reached its end.
        RunFinished = "run.finished",
    }
}
