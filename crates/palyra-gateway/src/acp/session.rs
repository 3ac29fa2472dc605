//! Commands about conversations.

pub(super) mod archive;
pub(super) mod fork;
pub(super) mod list;
pub(super) mod load;
pub(super) mod new;
pub(super) mod rename;
pub(super) mod reset;
