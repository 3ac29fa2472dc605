use super::runtime_contract_enum;

runtime_contract_enum! {
    /// What a person or device may do, from the most to the least.
    pub enum Role {
        /// Everything, including who else may do what.
        Owner = "owner",
        /// Runs the system: configuration, channels, skills, decisions.
        Operator = "operator",
        /// Reads, and decides approvals.
        Approver = "approver",
        /// Reads.
        Viewer = "viewer",
    }

    /// One thing that a credential may allow. A role has some of them; a token has at most those of
    /// the one who made it.
    pub enum Scope {
        /// See how the daemon is.
        StatusRead = "status:read",
        /// See figures for monitoring.
        MetricsRead = "metrics:read",
        /// Read and check the audit trail.
        AuditRead = "audit:read",
        /// See API tokens, never their secret.
        TokensRead = "tokens:read",
        /// Make and revoke API tokens.
        TokensWrite = "tokens:write",
        /// See names and versions of secrets, never their value.
        SecretsRead = "secrets:read",
        /// Set and delete secrets, and change the master key.
        SecretsWrite = "secrets:write",
        /// See the effective configuration.
        ConfigRead = "config:read",
        /// Change the configuration.
        ConfigWrite = "config:write",
        /// Make backups, which hold everything.
        BackupsCreate = "backups:create",
        /// See logins of browsers.
        LoginsRead = "logins:read",
        /// Make login links, which hand on one's own rights, and end logins.
        LoginsWrite = "logins:write",
        /// See who has a role.
        PrincipalsRead = "principals:read",
        /// Give and take roles, and make credentials for those who have one.
        PrincipalsWrite = "principals:write",
        /// See channels, how they are and how they are routed, not what is said in them.
        ChannelsRead = "channels:read",
        /// Set channels and rules up, and decide what becomes of messages that wait for somebody.
        ChannelsWrite = "channels:write",
        /// Read what is said in channels.
        MessagesRead = "messages:read",
        /// Say something in a channel, in the name of the bot.
        MessagesSend = "messages:send",
        /// See agents, and the models that they think with.
        AgentsRead = "agents:read",
        /// Make, change and remove agents.
        AgentsWrite = "agents:write",
        /// Read conversations with agents, and what agents did in them.
        SessionsRead = "sessions:read",
        /// Talk to agents as somebody whom they trust, and stop what they do.
        SessionsWrite = "sessions:write",
        /// See what agents ask before they do it.
        ApprovalsRead = "approvals:read",
        /// Decide what agents ask.
        ApprovalsDecide = "approvals:decide",
        /// Ask a model something, which may cost money.
        ModelsUse = "models:use",
        /// Talk to agents through `/v1`, with the clients that there are for OpenAI.
        ChatUse = "chat:use",
    }

    /// How far a publisher's key is trusted for a skill.
    pub enum SkillTrustState {
        /// Installed, cannot run.
        Quarantine = "quarantine" ["quarantined"],
        /// Its key was pinned at first use, by an operator's choice.
        Tofu = "tofu",
        /// Its key is in the trust store.
        Trusted = "trusted",
        /// Its key is no longer to be trusted; cannot run.
        Revoked = "revoked",
    }
}
