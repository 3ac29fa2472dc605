//! Commands about what agents ask.

pub(super) mod decide;
pub(super) mod get;
pub(super) mod list;
