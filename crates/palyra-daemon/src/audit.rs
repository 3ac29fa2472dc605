//! Entries of the audit trail that the daemon makes itself.

use palyra_common::time::Timestamp;
use palyra_storage::journal::JournalEvent;
use palyra_storage::{Database, StorageError, new_id};

use crate::app::App;

/// An entry about this node.
pub(crate) async fn about_node(
    db: &Database,
    at: Timestamp,
    action: &str,
) -> Result<(), StorageError> {
    let subject = format!("node:{}", db.incarnation());
    add(db, entry(at, "system", action, &subject, "palyrad", "{}".into())).await
}

/// An entry about what somebody had the daemon do.
pub(crate) async fn record(
    app: &App,
    actor: &str,
    action: &str,
    origin: &str,
) -> Result<(), StorageError> {
    let subject = format!("node:{}", app.db.incarnation());
    add(&app.db, entry(app.clock.now(), actor, action, &subject, origin, "{}".into())).await
}

/// An entry about options that were changed.
pub(crate) async fn config_changed(
    app: &App,
    actor: &str,
    origin: &str,
    keys: &[String],
) -> Result<(), StorageError> {
    let detail = serde_json::json!({ "options": keys }).to_string();
    let now = app.clock.now();
    add(&app.db, entry(now, actor, "config.changed", "config", origin, detail)).await
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
