//! Each handler: who asks, what for, do it, answer.

pub(super) mod access;
pub(super) mod acp;
pub(super) mod agents;
pub(super) mod approvals;
pub(super) mod audit;
pub(super) mod backups;
pub(super) mod channels;
pub(super) mod config;
pub(super) mod console;
pub(super) mod events;
pub(super) mod health;
pub(super) mod logins;
pub(super) mod messages;
pub(super) mod models;
pub(super) mod outbox;
pub(super) mod principals;
pub(super) mod router;
pub(super) mod runs;
pub(super) mod secrets;
pub(super) mod sessions;
pub(super) mod status;
pub(super) mod tapes;
