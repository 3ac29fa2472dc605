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

    /// What happened in an outbox that somebody may want to look at.
    pub enum OutboxEventKind {
        /// A message was given up.
        Dead = "dead",
        /// Nobody knows whether a message arrived, and a human has to say.
        Unknown = "unknown",
        /// Messages that were given up are sent after all.
        Replayed = "replayed",
        /// A message that was given up is closed.
        Discarded = "discarded",
        /// A message of which nobody knew is sent again.
        Resent = "resent",
        /// A message of which nobody knew is there, as a human says.
        MarkedDelivered = "marked_delivered",
        /// A message that waited for an approval goes out.
        Released = "released",
        /// A message is taken back.
        Cancelled = "cancelled",
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
