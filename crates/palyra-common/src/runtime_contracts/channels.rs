use super::runtime_contract_enum;

runtime_contract_enum! {
    /// Whether a connector has what it needs to connect.
    pub enum ConnectorReadiness {
        /// It has everything.
        Ready = "ready",
        /// A secret that it needs is not in the vault.
        MissingCredential = "missing_credential",
        /// The platform refused its secret.
        AuthFailed = "auth_failed",
        /// Its configuration cannot work.
        Misconfigured = "misconfigured",
    }

    /// What a connector's task is doing.
    pub enum ConnectorLiveness {
        /// Nothing: it is switched off.
        Stopped = "stopped",
        /// It is connecting for the first time.
        Starting = "starting",
        /// It is connected.
        Running = "running",
        /// It lost its connection and makes a new one.
        Restarting = "restarting",
        /// It ended without being asked to.
        Crashed = "crashed",
    }

    /// How a connector's queue is doing.
    pub enum ConnectorSaturation {
        /// Messages go out as they come.
        Healthy = "healthy",
        /// Some entries wait for another try.
        Retrying = "retrying",
        /// More comes in than goes out.
        Backpressure = "backpressure",
        /// The platform asked to wait.
        RateLimited = "rate_limited",
        /// Some entries were set aside and need a decision.
        DeadLettered = "dead_lettered",
        /// The platform refused the connector's secret; its queue is kept.
        AuthFailed = "auth_failed",
        /// An operator has paused it.
        Paused = "paused",
    }

    /// Which messages of a platform are looked at, from the fewest to all.
    pub enum InboundScope {
        /// Direct messages only.
        DmOnly = "dm_only",
        /// Direct messages, and the guild channels that are listed.
        AllowlistedGuildChannels = "allowlisted_guild_channels",
        /// Direct messages and every guild channel.
        OpenGuildChannels = "open_guild_channels",
    }

    /// What becomes of a message that addresses everyone, everyone online or a role.
    pub enum BroadcastStrategy {
        /// It is ignored.
        Deny = "deny",
        /// It is taken if it also mentions the bot by name.
        MentionOnly = "mention_only",
        /// It is taken.
        Allow = "allow",
    }
}
