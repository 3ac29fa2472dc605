//! One file per table: its statements and what its rows mean.

pub(crate) mod router_rules;
