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
    /// What an auxiliary task is for.
    pub enum AuxiliaryPurpose {
        /// To keep a long conversation within what an agent reads at once.
        Compaction = "compaction",
        /// To name a conversation.
        Title = "title",
        /// For a part of the program that asked for it.
        Call = "call",
    }

    /// Which model an auxiliary task is put to, of those that may be asked.
    pub enum AuxiliaryPreference {
        /// The cheapest.
        LowCost = "low_cost",
        /// The fastest.
        LowLatency = "low_latency",
        /// One that looks at pictures, or none.
        VisionCapable = "vision_capable",
    }

    /// What follows where no model has met the contract of an auxiliary task.
    pub enum AuxiliaryFailureMode {
        /// A plain substitute, made without a model, takes the place of the output.
        Degrade = "degrade",
        /// There is no output, which means no to whoever asked.
        FailClosed = "fail_closed",
    }

    /// Why no model has met the contract of an auxiliary task.
    pub enum AuxiliaryReason {
        /// No model that may be asked can do it.
        NoModel = "no_model",
        /// A budget is spent, so that nobody was asked.
        BudgetSpent = "budget_spent",
        /// No model gave an answer.
        ModelFailed = "model_failed",
        /// The model refused.
        ModelRefused = "model_refused",
        /// What was answered is not what the contract wants, also after one repair.
        InvalidOutput = "invalid_output",
        /// The model wrote more than it was allowed to.
        OverBudget = "over_budget",
        /// It took too long.
        TimedOut = "timed_out",
        /// Whoever had asked is gone, or was told to stop.
        Interrupted = "interrupted",
        /// What it is about is gone, or is not what it has to be.
        InvalidInput = "invalid_input",
    }

    /// How soon a model answers, compared with others.
    pub enum ModelLatency {
        /// Sooner than most.
        Fast = "fast",
        /// As most do.
        Normal = "normal",
        /// Later than most: one that thinks for long, or a slow machine.
        Slow = "slow",
    }
}
