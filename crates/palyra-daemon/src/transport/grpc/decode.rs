//! Reading what a call carries.

use std::fmt::Display;
use std::str::FromStr;

use palyra_common::ErrorCode;
use tonic::{Request, Status};

use super::refused::refusal;
use crate::transport::http::{Answer, Caller, Refusal};

/// Who calls.
pub(super) fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    let caller = request.extensions().get::<Caller>().cloned();
    let missing = || Refusal::new(ErrorCode::AuthRequired, "no credential was checked");
    caller.ok_or_else(|| refusal(&missing()))
}

/// What a field names.
pub(super) fn named<T: FromStr<Err: Display>>(field: &str, text: &str) -> Answer<T> {
    text.parse().map_err(|error: T::Err| invalid(format!("{field}: {error}")))
}

/// The same where the field may be empty.
pub(super) fn if_named<T: FromStr<Err: Display>>(field: &str, text: &str) -> Answer<Option<T>> {
    if text.is_empty() { Ok(None) } else { named(field, text).map(Some) }
}

/// What a field says, unless it is empty.
pub(super) fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// How many were asked for.
pub(super) fn page_size(size: u32) -> Option<u32> {
    Some(size).filter(|size| *size > 0)
}

/// A value that cannot be accepted.
pub(super) fn invalid(what: String) -> Refusal {
    Refusal::new(ErrorCode::CommonInvalidInput, what)
}
