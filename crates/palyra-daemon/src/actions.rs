//! What people and programs have done, whichever door they come through: who may do it, what it takes,
//! and what is noted of it. The handlers of HTTP and gRPC decode, call this and encode.

pub(crate) mod approvals;
pub(crate) mod messages;
pub(crate) mod runs;
pub(crate) mod sessions;

use palyra_common::ErrorCode;

use crate::transport::http::{Answer, Refusal};

/// As many as were asked for, if that is no more than `most`; by default those.
pub(crate) fn checked_limit(limit: Option<u32>, most: u32) -> Answer<u32> {
    match limit.unwrap_or(most) {
        limit if (1..=most).contains(&limit) => Ok(limit),
        _ => Err(Refusal::new(ErrorCode::HttpMalformed, format!("limit is from 1 to {most}"))),
    }
}

/// What was given to go on from is nothing that a list gave.
pub(crate) fn no_cursor() -> Refusal {
    Refusal::new(ErrorCode::CommonInvalidInput, palyra_gateway::NO_CURSOR)
}
