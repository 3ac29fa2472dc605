use super::runtime_contract_enum;

runtime_contract_enum! {
    /// Why an attempt failed.
    pub enum RetryClass {
        /// The other side asked to wait.
        RateLimit = "rate_limit",
        /// The request did not leave this machine, or the network failed before it could matter.
        TransientNetwork = "transient_network",
        /// The connector was not connected.
        ConnectorRestarting = "connector_restarting",
        /// Trying again would fail again.
        Permanent = "permanent",
    }

    /// Where an outbox entry is in its life.
    pub enum OutboxState {
        /// Waits for an approval.
        Held = "held",
        /// Waits for its turn or for a due time.
        Pending = "pending",
        /// An attempt was recorded and is being made.
        Sending = "sending",
        /// The other side has it.
        Delivered = "delivered",
        /// Whether the other side has it could not be learnt.
        Unknown = "unknown",
        /// It will not be sent unless someone replays it.
        Dead = "dead",
        /// It is no longer wanted.
        Cancelled = "cancelled",
    }

    /// Why an outbox entry will not be sent.
    pub enum DeadLetterReason {
        /// The other side refused it.
        Rejected = "rejected",
        /// Every try failed.
        AttemptsExhausted = "attempts_exhausted",
        /// It waited for too long.
        Expired = "expired",
        /// A part before it, or the message it changes, was not delivered.
        PartFailed = "part_failed",
    }

    /// What becomes of an entry of which nobody could learn whether the other side has it.
    pub enum UnknownRule {
        /// A human is asked.
        Ask = "ask",
        /// It is sent again, at the risk of a second copy.
        Resend = "resend",
        /// It is given up.
        Drop = "drop",
    }
}
