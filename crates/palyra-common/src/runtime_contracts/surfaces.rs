use super::runtime_contract_enum;

runtime_contract_enum! {
    /// A page of the console that a handoff can lead to.
    pub enum HandoffSection {
        /// Health, what needs attention, activity.
        Overview = "overview",
        /// Conversations.
        Chat = "chat",
        /// Runs and their tapes.
        Runs = "runs",
        /// Questions that wait for a human.
        Approvals = "approvals",
        /// Connectors and their queues.
        Channels = "channels",
        /// Inbound integrations.
        Webhooks = "webhooks",
        /// Skills and plugins.
        Skills = "skills",
        /// Durable facts.
        Memory = "memory",
        /// Scheduled work.
        Routines = "routines",
        /// Goals pursued over several runs.
        Objectives = "objectives",
        /// Names and versions of secrets.
        Secrets = "secrets",
        /// Devices, tokens, roles.
        Access = "access",
        /// Effective policies.
        Policy = "policy",
        /// Configuration.
        Settings = "settings",
        /// Events, telemetry, doctor.
        Diagnostics = "diagnostics",
    }

    /// What the person who follows a handoff wants to do.
    pub enum HandoffIntent {
        /// Decide an approval.
        Approve = "approve",
        /// Go on with a session.
        ResumeSession = "resume-session" ["resume_session", "resumeSession"],
        /// Show a user interface surface again.
        ReopenCanvas = "reopen-canvas" ["reopen_canvas", "reopenCanvas"],
        /// Look at a run.
        InspectRun = "inspect-run" ["inspect_run", "inspectRun"],
        /// Look at a connector.
        InspectChannel = "inspect-channel" ["inspect_channel", "inspectChannel"],
        /// Look at the diagnostics.
        InspectDiagnostics = "inspect-diagnostics" ["inspect_diagnostics", "inspectDiagnostics"],
        /// Look at an objective.
        OpenObjective = "open-objective" ["open_objective", "openObjective"],
    }

    /// What a person sits in front of.
    pub enum TelemetrySurface {
        /// The console in a browser.
        Web = "web",
        /// The desktop application.
        Desktop = "desktop",
        /// The full-screen terminal interface.
        Tui = "tui",
        /// The command line.
        Cli = "cli",
        /// A phone.
        Mobile = "mobile",
    }
}
