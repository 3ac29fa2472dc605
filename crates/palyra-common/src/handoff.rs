//! Cross-surface handoff: the link or token with which a person goes from one surface to another
//! and lands where they were.
//!
//! A handoff says *where to look*. It carries no authority: following one without being logged in
//! shows the login. So reading is forgiving: what cannot be understood is dropped with a
//! [`HandoffNotice`], and the rest still leads somewhere. The cases in
//! `schemas/json/handoff-cases.json` say what is read and written, for whoever does so in another
//! language.

use serde::{Deserialize, Serialize};

use crate::ids::{ApprovalId, ConnectorId, ObjectiveId, RunId, SessionId, SurfaceId};
use crate::runtime_contracts::{HandoffIntent, HandoffSection, TelemetrySurface};

mod read;
#[cfg(test)]
mod tests;
mod vocabulary;
mod write;

pub use read::{
    HandoffNotice, HandoffTokenError, ParsedHandoff, normalize_handoff_intent,
    parse_console_handoff, parse_handoff_token,
};
pub use vocabulary::{HandoffField, HandoffProblem};
pub use write::{to_console_address, to_handoff_token, to_handoff_url};

pub(crate) use vocabulary::CONTRACTS;

/// Where a person wants to go, and from where.
///
/// Deserialised, it is exact: that is for our own programs among each other. What people bring is read by
/// [`parse_console_handoff`] and [`parse_handoff_token`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrossSurfaceHandoff {
    /// The page.
    pub section: HandoffSection,
    /// The conversation to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The run to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The question to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// The objective to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective_id: Option<ObjectiveId>,
    /// The connector to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connector_id: Option<ConnectorId>,
    /// The user interface surface to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface_id: Option<SurfaceId>,
    /// What the person wants to do there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<HandoffIntent>,
    /// Where the person comes from.
    pub source: TelemetrySurface,
}

impl CrossSurfaceHandoff {
    /// A handoff to a page and to nothing in particular on it.
    pub const fn to_section(section: HandoffSection, source: TelemetrySurface) -> Self {
        Self {
            section,
            session_id: None,
            run_id: None,
            approval_id: None,
            objective_id: None,
            connector_id: None,
            surface_id: None,
            intent: None,
            source,
        }
    }
}
