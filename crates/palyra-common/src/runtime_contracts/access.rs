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
