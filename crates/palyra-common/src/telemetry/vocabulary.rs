use crate::runtime_contracts::runtime_contract_enum;

runtime_contract_enum! {
    /// What a person did on a surface.
    pub enum UxEventKind {
        /// A page was opened.
        SurfaceOpened = "ux.surface.opened",
        /// A handoff was followed.
        HandoffOpened = "ux.handoff.opened",
        /// A step of the way to a first reply was left behind.
        OnboardingStep = "ux.onboarding.step",
        /// Something was said to an agent.
        ChatPromptSubmitted = "ux.chat.prompt_submitted",
        /// A question was decided.
        ApprovalResolved = "ux.approval.resolved",
        /// A run was looked at.
        RunInspected = "ux.run.inspected",
        /// A conversation was taken up again.
        SessionResumed = "ux.session.resumed",
        /// An error was shown.
        ErrorShown = "ux.error.shown",
        /// The surface was in the way.
        Friction = "ux.friction",
    }

    /// What came of what a person did.
    pub enum UxOutcome {
        /// It was done.
        Ok = "ok",
        /// Something else has to come first.
        Blocked = "blocked",
        /// It failed.
        Error = "error",
        /// The person left it.
        Cancelled = "cancelled",
    }

    /// How a surface was in the way.
    pub enum UxFriction {
        /// The same place was clicked again and again.
        RageClick = "rage_click",
        /// The same thing failed again.
        RepeatedFailure = "repeated_failure",
        /// A guided way was left before its end.
        AbandonedWizard = "abandoned_wizard",
    }

    /// A step of the way to a first reply.
    pub enum OnboardingStep {
        /// How this installation is run.
        Profile = "profile",
        /// A provider of models.
        Model = "model",
        /// A channel.
        Channel = "channel",
        /// The daemon as a service.
        Service = "service",
        /// An agent has answered.
        FirstReply = "first_reply",
    }
}
