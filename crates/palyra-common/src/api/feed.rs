//! `/console/v1/events`: `GET`, what happens in the daemon as server-sent events (`after` or
//! `Last-Event-ID`; without either, from now on, which is told first as an id without data).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time::Timestamp;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FeedEvent {
    /// Its number: larger than those of all events before it.
    pub seq: i64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened: `connector.started`.
    pub kind: String,
    /// To what: `connector:echo:default`.
    pub subject: String,
    /// What else there is to know.
    pub body: Value,
}
