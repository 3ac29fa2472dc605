//! `/admin/v1/agents`: `GET` lists, `POST` makes; `/{id}`: `GET`, `PUT`, `DELETE`.

use serde::{Deserialize, Serialize};

use crate::agent::AgentSpec;
use crate::ids::AgentId;
use crate::serde_number::whole_version;
use crate::serde_object::object;
use crate::time::Timestamp;

/// Somebody who does the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// What it is.
    pub spec: AgentSpec,
    /// Grows with each change.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub changed_at: Timestamp,
}

/// An agent to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
    /// Its id.
    pub id: AgentId,
    /// What it is to be.
    #[serde(deserialize_with = "object")]
    pub spec: AgentSpec,
}

/// What an agent is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AgentChange {
    /// All of it.
    #[serde(deserialize_with = "object")]
    pub spec: AgentSpec,
    /// Only if it is at this version.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_version")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub version: Option<i64>,
}
