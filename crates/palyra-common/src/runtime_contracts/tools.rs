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
}
