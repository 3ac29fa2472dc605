use super::runtime_contract_enum;

runtime_contract_enum! {
    /// A side call to a model under a strict contract.
    pub enum AuxiliaryTaskKind {
        /// A bounded summary of a text.
        Summary = "summary" ["auxiliary_summary"],
        /// Ranked evidence for a query.
        RecallSearch = "recall_search" ["auxiliary_recall_search"],
        /// One label for a text.
        Classification = "classification" ["auxiliary_classification"],
        /// Named fields out of a text.
        Extraction = "extraction" ["auxiliary_extraction"],
        /// Whether an objective's attempt met its criteria.
        ObjectiveJudge = "objective_judge" ["auxiliary_objective_judge"],
        /// What is seen in images.
        Vision = "vision" ["auxiliary_vision"],
    }

    /// Where an auxiliary task is in its life. The last three are final.
    pub enum AuxiliaryTaskState {
        /// Waits for a worker.
        Pending = "pending" ["queued"],
        /// A worker has it.
        Running = "running" ["in_progress"],
        /// Its output met the contract.
        Succeeded = "succeeded" ["complete", "completed"],
        /// It cannot be done.
        Failed = "failed",
        /// It is no longer wanted.
        Cancelled = "cancelled" ["canceled"],
    }
}
