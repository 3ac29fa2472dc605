//! Commands about what agents show.

pub(super) mod action;
