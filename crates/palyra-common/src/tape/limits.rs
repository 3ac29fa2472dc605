use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// How much a run may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Limits {
    /// Turns of the model.
    pub turns: u32,
    /// Calls of tools.
    pub tool_calls: u32,
    /// How long it may work, waiting not counted.
    pub active: Duration,
    /// Tokens; nothing: as many as its budgets allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money, in millionths of a dollar; nothing: as much as its budgets allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// Attempts at one turn before it fails; those that were broken off do not count.
    pub attempts: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let active = Duration::from_mins(15);
        Self { turns: 24, tool_calls: 48, active, tokens: None, micros: None, attempts: 5 }
    }
}
