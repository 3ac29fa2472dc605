use palyra_common::time::Timestamp;

use super::Refused;
use crate::actor::Actor;
use crate::error::GatewayError;

/// The most items of one page.
const PAGE_LIMIT: u32 = 200;

/// Who gives a command, and when.
#[derive(Debug, Clone)]
pub struct Call {
    /// Who.
    pub actor: Actor,
    /// The time.
    pub now: Timestamp,
    /// The version that what is to be changed has as far as they know. Only commands
    /// [`with_version`](super::Command::with_version) have one.
    pub expected_version: Option<i64>,
}

/// How many items a page is to have.
pub(super) fn page_limit(limit: Option<u32>) -> Result<u32, Refused> {
    match limit.unwrap_or(PAGE_LIMIT) {
        limit if (1..=PAGE_LIMIT).contains(&limit) => Ok(limit),
        _ => Err(GatewayError::Invalid(format!("limit is from 1 to {PAGE_LIMIT}")).into()),
    }
}
