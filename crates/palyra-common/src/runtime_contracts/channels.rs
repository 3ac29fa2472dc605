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

    /// Whether the platform of a connector is heard.
    pub enum ConnectorContact {
        /// There is no connection.
        None = "none",
        /// It answers, as far as it is asked to.
        Heard = "heard",
        /// There is a connection, and nobody answers on it.
        Silent = "silent",
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

    /// What happened to a connector.
    pub enum ConnectorEventKind {
        /// It was set up.
        Added = "added",
        /// It was given other settings.
        Configured = "configured",
        /// It was switched on.
        Enabled = "enabled",
        /// It was switched off.
        Disabled = "disabled",
        /// Its queue was paused.
        Paused = "paused",
        /// Its queue goes out again.
        Resumed = "resumed",
        /// A node began to run it.
        Started = "started",
        /// It ended as it was asked to.
        Stopped = "stopped",
        /// It ended without being asked to, and is started again.
        Lost = "lost",
        /// Its platform does not answer any more, though there is a connection.
        Silent = "silent",
        /// Its platform answers again.
        HeardAgain = "heard_again",
        /// The platform refused its secret.
        AuthFailed = "auth_failed",
        /// A secret that it needs is missing.
        MissingCredential = "missing_credential",
        /// Its settings cannot work.
        Misconfigured = "misconfigured",
        /// A message that had come in was set aside, because a backup was restored.
        MessageSetAside = "message_set_aside",
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

    /// Where an incoming message is in its life.
    pub enum InboundState {
        /// It is kept; what becomes of it is not decided yet.
        Received = "received",
        /// An agent has it.
        Routed = "routed",
        /// No agent is to have it.
        Ignored = "ignored",
    }

    /// What becomes of a direct message of somebody who is not listed.
    pub enum DirectMessagePolicy {
        /// It is ignored.
        Deny = "deny",
        /// Its sender gets a code that an operator can approve.
        Pairing = "pairing",
        /// It is taken.
        Allow = "allow",
    }

    /// Why a message reaches an agent, or does not.
    pub enum RouteReason {
        /// It is direct, and its sender is listed or direct messages are allowed.
        Direct = "direct",
        /// It mentions the bot.
        Mentioned = "mentioned",
        /// The rule of its conversation needs no mention.
        MentionNotNeeded = "mention_not_needed",
        /// Its sender has to be paired first.
        PairingNeeded = "pairing_needed",
        /// No rule covers it.
        NoRule = "no_rule",
        /// Its connector is switched off.
        ConnectorDisabled = "connector_disabled",
        /// The inbound scope leaves out where it was said.
        OutOfScope = "out_of_scope",
        /// The bot itself said it.
        OwnMessage = "own_message",
        /// Another bot said it.
        BotAuthor = "bot_author",
        /// There is nothing in it.
        Empty = "empty",
        /// It is larger than the rule allows.
        TooLarge = "too_large",
        /// Its sender is on the deny list.
        SenderDenied = "sender_denied",
        /// There is an allow list, and its sender is not on it.
        SenderNotAllowed = "sender_not_allowed",
        /// Direct messages are not taken.
        DirectDenied = "direct_denied",
        /// It does not mention the bot.
        MentionMissing = "mention_missing",
        /// It addresses everyone, and such messages are not taken.
        BroadcastDenied = "broadcast_denied",
        /// It was undecided in a backup that was restored, and may have been answered since.
        Restored = "restored",
    }
}
