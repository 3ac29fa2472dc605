use crate::runtime_contracts::runtime_contract_enum;

runtime_contract_enum! {
    /// A field of a handoff, by its name in query parameters and tokens.
    pub enum HandoffField {
        /// The page.
        Section = "section",
        /// The conversation to show.
        SessionId = "sessionId",
        /// The run to show.
        RunId = "runId",
        /// The question to show.
        ApprovalId = "approvalId",
        /// The objective to show.
        ObjectiveId = "objectiveId",
        /// The connector to show.
        ConnectorId = "connectorId",
        /// The user interface surface to show.
        SurfaceId = "surfaceId",
        /// What the person wants to do there.
        Intent = "intent",
        /// Where the person comes from.
        Source = "source",
    }

    /// What was wrong with a field that was not taken from a handoff.
    pub enum HandoffProblem {
        /// A word that is not one of the field's.
        UnknownValue = "unknown_value",
        /// Not a ULID.
        InvalidUlid = "invalid_ulid",
        /// Not one to 128 ASCII letters, digits and `.:_-`.
        InvalidName = "invalid_name",
        /// Something other than text, in a token.
        NotText = "not_text",
    }
}
