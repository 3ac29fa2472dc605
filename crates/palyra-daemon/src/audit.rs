//! Entries of the audit trail that the daemon makes itself.

use palyra_common::time::Timestamp;
pub(crate) use palyra_gateway::Actor;
use palyra_storage::journal::JournalEvent;
use palyra_storage::{Database, StorageError, new_id};
use serde_json::Value;

use crate::app::App;

/// Writes an entry about this node.
pub(crate) async fn about_node(
    db: &Database,
    at: Timestamp,
    action: &str,
) -> Result<(), StorageError> {
    add(db, of_node(db, at, action)).await
}

/// An entry about this node, to be written with what it is about.
pub(crate) fn of_node(db: &Database, at: Timestamp, action: &str) -> JournalEvent {
    let subject = format!("node:{}", db.incarnation());
    entry(at, "system", action, &subject, "palyrad", "{}".into())
}

/// An entry about what somebody had the daemon do.
pub(crate) async fn record(app: &App, actor: &Actor, action: &str) -> Result<(), StorageError> {
    let subject = format!("node:{}", app.db.incarnation());
    add(&app.db, by(actor, app.clock.now(), action, &subject, Value::Null)).await
}

/// An entry about options that were changed.
pub(crate) async fn config_changed(
    app: &App,
    actor: &Actor,
    keys: &[String],
) -> Result<(), StorageError> {
    let detail = serde_json::json!({ "options": keys });
    add(&app.db, by(actor, app.clock.now(), "config.changed", "config", detail)).await
}

/// An entry about what somebody has done to `subject`, to be written with that.
pub(crate) fn by(
    actor: &Actor,
    at: Timestamp,
    action: &str,
    subject: &str,
    detail: Value,
) -> JournalEvent {
    actor.noted(at, action, subject.to_owned(), detail)
}

fn entry(
    at: Timestamp,
    actor: &str,
    action: &str,
    subject: &str,
    origin: &str,
    detail: String,
) -> JournalEvent {
    JournalEvent {
        id: new_id(),
        at,
        actor: actor.into(),
        action: action.into(),
        subject: subject.into(),
        origin: origin.into(),
        outcome: "ok".into(),
        detail,
        content: None,
    }
}

async fn add(db: &Database, event: JournalEvent) -> Result<(), StorageError> {
    db.write(move |tx| {
        tx.record(event.clone());
        Ok(())
    })
    .await
}
