use super::runtime_contract_enum;

runtime_contract_enum! {
    /// Where a run is in its life. The last four are final.
    pub enum RunLifecyclePhase {
        /// Waits for a worker, for a due time or for its turn in the session.
        Queued = "queued" ["pending", "accepted"],
        /// A worker has it.
        Running = "running" ["in_progress", "streaming"],
        /// Waits for a human's decision.
        WaitingForApproval = "waiting_for_approval" ["awaiting_approval", "approval_wait"],
        /// An operator has paused it.
        Paused = "paused",
        /// It gave its answer, or the part of it that a limit allowed.
        Completed = "completed" ["done", "succeeded"],
        /// It cannot go on.
        Failed = "failed",
        /// Someone stopped it.
        Aborted = "aborted" ["cancelled", "canceled"],
        /// Its deadline passed before it started.
        Expired = "expired" ["timed_out", "timeout"],
    }

    /// Why a run ended.
    pub enum RunEnd {
        /// It gave its answer.
        Answered = "answered",
        /// It asks for tools of whoever began it, who makes these calls.
        HandedOver = "handed_over",
        /// The model ended without a word.
        NoAnswer = "no_answer",
        /// It gave its answer as far as that was not too long.
        AnswerCut = "answer_cut",
        /// It had as many turns of the model as it may have.
        TurnLimit = "turn_limit",
        /// It called as many tools as it may call.
        ToolCallLimit = "tool_call_limit",
        /// It worked for as long as it may work.
        TimeLimit = "time_limit",
        /// It used as many tokens as it may use.
        TokenLimit = "token_limit",
        /// It cost as much as it may cost.
        CostLimit = "cost_limit",
        /// A budget that it shares with others is spent.
        BudgetSpent = "budget_spent",
        /// No model gave an answer that could be used.
        ModelFailed = "model_failed",
        /// The model refused to answer.
        ModelRefused = "model_refused",
        /// It was taken over several times without getting any further.
        CrashLoop = "crash_loop",
        /// Its agent, or what that needs, is not there any more.
        Misconfigured = "misconfigured",
        /// Someone stopped it.
        Stopped = "stopped",
        /// Its deadline passed before it started.
        DeadlinePassed = "deadline_passed",
    }
}
