//! What readers of the event feed are told of channels: what somebody may want to look at or do
//! something about. Never what is frequent: the number of an event is a lock that is held until the
//! commit, so hot messaging stays out of it.

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::{ConnectorEventKind, DeadLetterReason, OutboxEventKind};
use palyra_common::time::Timestamp;
use palyra_storage::Tx;
use palyra_storage::events::NewEvent;
use serde_json::{Value, json};

use crate::operation::EntryKey;

/// Something happened to a connector.
pub(crate) fn connector(
    tx: &mut Tx<'_>,
    id: &ConnectorId,
    kind: ConnectorEventKind,
    detail: Option<&str>,
    at: Timestamp,
) {
    let body = detail.map_or_else(|| json!({}), |detail| json!({ "detail": detail }));
    emit(tx, id, format!("connector.{kind}"), body, at);
}

/// An entry was given up.
pub(crate) fn dead(tx: &mut Tx<'_>, key: &EntryKey, reason: DeadLetterReason, at: Timestamp) {
    let body = json!({ "envelope": key.envelope, "part": key.part, "reason": reason });
    emit(tx, &key.connector, named(OutboxEventKind::Dead), body, at);
}

/// An entry waits for a human, or one has decided about it, or a rule of theirs has.
pub(crate) fn entry(tx: &mut Tx<'_>, key: &EntryKey, kind: OutboxEventKind, at: Timestamp) {
    let body = json!({ "envelope": key.envelope, "part": key.part });
    emit(tx, &key.connector, named(kind), body, at);
}

/// A human has decided about many entries at once.
pub(crate) fn entries(
    tx: &mut Tx<'_>,
    id: &ConnectorId,
    kind: OutboxEventKind,
    count: u64,
    at: Timestamp,
) {
    emit(tx, id, named(kind), json!({ "count": count }), at);
}

fn named(kind: OutboxEventKind) -> String {
    format!("outbox.{kind}")
}

fn emit(tx: &mut Tx<'_>, id: &ConnectorId, kind: String, body: Value, at: Timestamp) {
    tx.emit(NewEvent { at, kind, subject: format!("connector:{id}"), body });
}
