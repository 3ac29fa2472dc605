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
}
