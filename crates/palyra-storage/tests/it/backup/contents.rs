//! A database with something in every table, and all that it holds, to be compared.

use bytes::Bytes;
use palyra_common::ids::EventId;
use palyra_storage::blob::{BlobId, BlobStore};
use palyra_storage::events::NewEvent;
use palyra_storage::journal::{ContentDigest, JournalEvent};
use palyra_storage::lease::{LeaseName, Leases};
use palyra_storage::{Database, JournalStore, Row, Sql, new_id, params, sql};

use crate::world::START;

/// Of each table all rows that travel. What a blob is called in its store may differ.
const EVERYTHING: &[(&str, Sql)] = &[
    (
        "counters",
        sql!("SELECT * FROM counters WHERE name NOT IN ('fencing', 'restored') ORDER BY name"),
    ),
    ("events", sql!("SELECT * FROM events ORDER BY seq")),
    ("journal_segments", sql!("SELECT * FROM journal_segments ORDER BY segment")),
    ("journal_head", sql!("SELECT * FROM journal_head")),
    ("journal", sql!("SELECT * FROM journal ORDER BY seq")),
    (
        "blobs",
        sql!(
            "SELECT sha256, size, state, holders, touched_at FROM blobs WHERE state = 'live'
             ORDER BY sha256"
        ),
    ),
    ("blob_references", sql!("SELECT * FROM blob_references ORDER BY sha256, holder")),
    ("principals", sql!("SELECT * FROM principals ORDER BY id")),
    ("login_codes", sql!("SELECT * FROM login_codes ORDER BY digest")),
    ("api_tokens", sql!("SELECT * FROM api_tokens ORDER BY id")),
    ("console_logins", sql!("SELECT * FROM console_logins ORDER BY id")),
    ("vault_keys", sql!("SELECT * FROM vault_keys ORDER BY id")),
    ("secrets", sql!("SELECT * FROM secrets ORDER BY scope, name, version")),
    ("connectors", sql!("SELECT * FROM connectors ORDER BY id")),
    ("outbox_lanes", sql!("SELECT * FROM outbox_lanes ORDER BY connector_id, conversation")),
    ("outbox", sql!("SELECT * FROM outbox ORDER BY connector_id, envelope_id, part")),
    ("inbound_events", sql!("SELECT * FROM inbound_events ORDER BY native_message_id")),
    ("inbound_cursors", sql!("SELECT * FROM inbound_cursors ORDER BY conversation")),
    ("idempotency_keys", sql!("SELECT * FROM idempotency_keys ORDER BY principal, operation, key")),
    ("router_rules", sql!("SELECT * FROM router_rules ORDER BY id")),
    ("connector_events", sql!("SELECT * FROM connector_events ORDER BY id")),
    ("agents", sql!("SELECT * FROM agents ORDER BY id")),
    ("sessions", sql!("SELECT * FROM sessions ORDER BY id")),
    ("runs", sql!("SELECT * FROM runs ORDER BY id")),
    ("tape", sql!("SELECT * FROM tape ORDER BY run_id, seq")),
    ("run_signals", sql!("SELECT * FROM run_signals ORDER BY id")),
    ("approvals", sql!("SELECT * FROM approvals ORDER BY id")),
    ("budgets", sql!("SELECT * FROM budgets ORDER BY scope")),
    (
        "budget_reservations",
        sql!("SELECT * FROM budget_reservations ORDER BY run_id, turn, attempt"),
    ),
    ("surfaces", sql!("SELECT * FROM surfaces ORDER BY session_id, surface_id")),
    ("session_summaries", sql!("SELECT * FROM session_summaries ORDER BY session_id")),
    ("auxiliary_tasks", sql!("SELECT * FROM auxiliary_tasks ORDER BY id")),
    ("system_events", sql!("SELECT * FROM system_events ORDER BY event_id")),
];

const ROWS: &[Sql] = &[
    sql!(
        "INSERT INTO principals (id, role, created_at, disabled_at)
         VALUES ('operator:anna', 'owner', 1, NULL)"
    ),
    sql!(
        "INSERT INTO principals (id, role, created_at, disabled_at)
         VALUES ('operator:Žofie', 'viewer', -5, 9223372036854775807)"
    ),
    sql!(
        sqlite: "INSERT INTO login_codes (digest, purpose, principal, created_at, expires_at, used_at)
         VALUES (x'00ff0a', 'handoff', 'operator:anna', 1, 2, NULL)",
        postgres: "INSERT INTO login_codes (digest, purpose, principal, created_at, expires_at, used_at)
         VALUES ('\\x00ff0a', 'handoff', 'operator:anna', 1, 2, NULL)",
    ),
    sql!(
        sqlite: "INSERT INTO api_tokens (id, digest, name, principal, scopes, created_at, expires_at, last_used_at, revoked_at)
         VALUES ('t', x'01', 'a \"name\"', 'operator:anna', '[]', 1, NULL, 3, NULL)",
        postgres: "INSERT INTO api_tokens (id, digest, name, principal, scopes, created_at, expires_at, last_used_at, revoked_at)
         VALUES ('t', '\\x01', 'a \"name\"', 'operator:anna', '[]', 1, NULL, 3, NULL)",
    ),
    sql!(
        sqlite: "INSERT INTO console_logins (id, digest, principal, created_at, last_seen_at, expires_at, void_at)
         VALUES ('l', x'02', 'operator:Žofie', 1, 2, 3, 4)",
        postgres: "INSERT INTO console_logins (id, digest, principal, created_at, last_seen_at, expires_at, void_at)
         VALUES ('l', '\\x02', 'operator:Žofie', 1, 2, 3, 4)",
    ),
    sql!(
        sqlite: "INSERT INTO vault_keys (id, source, probe, derivation, created_at, retired_at)
         VALUES ('k', 'file', x'', '{}', 1, NULL)",
        postgres: "INSERT INTO vault_keys (id, source, probe, derivation, created_at, retired_at)
         VALUES ('k', 'file', '\\x', '{}', 1, NULL)",
    ),
    sql!(
        sqlite: "INSERT INTO secrets (scope, name, version, key_id, wrapped_key, ciphertext, created_at, created_by)
         VALUES ('global', 'a', 1, 'k', x'03', zeroblob(3000000), 1, 'system')",
        postgres: "INSERT INTO secrets (scope, name, version, key_id, wrapped_key, ciphertext, created_at, created_by)
         VALUES ('global', 'a', 1, 'k', '\\x03', decode(repeat('00', 3000000), 'hex'), 1, 'system')",
    ),
    sql!(
        "INSERT INTO connectors (id, kind, enabled, settings, queue, readiness, stopped_before,
             version, created_at)
         VALUES ('echo:default', 'echo', 1, '{}', '{}', 'ready', 0, 1, 1)"
    ),
    sql!(
        "INSERT INTO outbox_lanes (connector_id, conversation, next_seq, depth, head_seq, due_at)
         VALUES ('echo:default', 'general', 1, 1, 0, 1)"
    ),
    sql!(
        "INSERT INTO outbox (connector_id, envelope_id, part, conversation, lane_seq, place, state,
             attempts, attempt_limit, doubtful, looks, due_at, operation, created_at, changed_at,
             version)
         VALUES ('echo:default', 'm2', 0, 'general', 0, 0, 'pending', 0, 8, 0, 0, 1, '{}', 1, 1, 0)"
    ),
    sql!(
        "INSERT INTO outbox (connector_id, envelope_id, part, conversation, place, state,
             attempts, attempt_limit, doubtful, looks, created_at, changed_at, version)
         VALUES ('echo:default', 'm1', 0, 'general', 3, 'delivered', 1, 8, 0, 0, 1, 2, 3)"
    ),
    sql!(
        "INSERT INTO inbound_events (connector_id, native_message_id, conversation, sender,
             content, occurred_at, received_at, state, failures)
         VALUES ('echo:default', 'n1', 'general', 'žofie', '{}', 1, 2, 'routed', 0)"
    ),
    sql!(
        "INSERT INTO inbound_cursors (connector_id, conversation, cursor)
         VALUES ('echo:default', 'general', 'n1')"
    ),
    sql!(
        sqlite: "INSERT INTO idempotency_keys (principal, operation, key, request, made, created_at)
         VALUES ('operator:anna', 'token.create', 'k', x'04', 't', 1)",
        postgres: "INSERT INTO idempotency_keys (principal, operation, key, request, made, created_at)
         VALUES ('operator:anna', 'token.create', 'k', '\\x04', 't', 1)",
    ),
    sql!(
        "INSERT INTO router_rules (id, connector_id, conversation, rule, version, created_at,
             changed_at)
         VALUES ('r', 'echo:default', '', '{}', 1, 1, 1)"
    ),
    sql!(
        "INSERT INTO connector_events (id, connector_id, at, kind, detail)
         VALUES ('e', 'echo:default', 1, 'paused', 'for a while')"
    ),
    sql!(
        "INSERT INTO agents (id, spec, version, created_at, changed_at)
         VALUES ('default', '{}', 1, 1, 1)"
    ),
    sql!(
        "INSERT INTO sessions (id, key, agent, surface, title, next_run, next_history, holder,
             created_at, changed_at)
         VALUES ('s', 'k', 'default', 'channel', 'žofie', 2, 1, 'r', 1, 1)"
    ),
    sql!(
        "INSERT INTO runs (id, session_id, session_seq, agent, phase, next_seq, snapshot_seq,
             recoveries, active, deadline, tokens, micros, depth, created_at, changed_at)
         VALUES ('r', 's', 1, 'default', 'waiting_for_approval', 2, 0, 0, 5, 9, 10, 20, 0, 1, 1)"
    ),
    sql!(
        "INSERT INTO tape (run_id, seq, at, kind, spoken, payload)
         VALUES ('r', 1, 1, 'run.queued', 0, '{}')"
    ),
    sql!("INSERT INTO run_signals (id, run_id, signal, at) VALUES ('g', 'r', '{}', 1)"),
    sql!(
        "INSERT INTO approvals (id, subject, payload, payload_sha256, summary, risk, state,
             requested_at, expires_at)
         VALUES ('a', 'tool', '{}', '00', 'do it', 'high', 'pending', 1, 2)"
    ),
    sql!(
        "INSERT INTO budgets (scope, spent_tokens, spent_micros, reserved_tokens, reserved_micros,
             changed_at)
         VALUES ('agent:default', 1, 2, 3, 4, 5)"
    ),
    sql!(
        "INSERT INTO budget_reservations (run_id, turn, attempt, tokens, micros, scopes)
         VALUES ('r', 1, 1, 3, 4, '[]')"
    ),
    sql!(
        "INSERT INTO surfaces (session_id, surface_id, state, version, updated_at)
         VALUES ('s', 'card', '{}', 2, 3)"
    ),
    sql!(
        "INSERT INTO session_summaries (session_id, through, since, text, trust, task_id, changed_at)
         VALUES ('s', 1, 0, 'žofie greets', 'untrusted', 'a', 2)"
    ),
    sql!(
        "INSERT INTO auxiliary_tasks (id, key, kind, purpose, state, agent, input_sha256, attempts,
             failures, reserved_tokens, reserved_micros, scopes, spent_tokens, spent_micros, created_at)
         VALUES ('a', 'title:s', 'summary', 'title', 'running', 'default', 'x', 1, 0, 5, 6, '[]', 0, 0, 1)"
    ),
    sql!(
        "INSERT INTO system_events (event_id, at, kind, surface, section, outcome, latency_ms, summary)
         VALUES ('e', 1, 'ux.surface.opened', 'web', 'chat', 'ok', 7, 'opened')"
    ),
    sql!(
        "INSERT INTO connector_status (connector_id, node, liveness, connection, restarts, told_at)
         VALUES ('echo:default', 'n', 'running', '{}', 0, 1)"
    ),
    sql!(
        "INSERT INTO connector_resume (connector_id, state, token, position, saved_at)
         VALUES ('echo:default', 'session 1', 1, 1, 1)"
    ),
    sql!(
        "INSERT INTO blob_trash (generation, sha256)
         VALUES ('old', 'trash')"
    ),
    sql!(
        "INSERT INTO blobs (sha256, generation, size, state, holders, touched_at)
         VALUES ('half', 'g', 1, 'uploading', 0, 1)"
    ),
];

pub(super) fn entry(action: &str) -> JournalEvent {
    JournalEvent {
        id: new_id::<EventId>(),
        at: START,
        actor: "operator:anna".into(),
        action: action.into(),
        subject: "line\nbreak, \"quote\" and ž".into(),
        origin: "test".into(),
        outcome: "ok".into(),
        detail: "{}".into(),
        content: Some(ContentDigest::of(b"content")),
    }
}

/// Writes something to every table, and puts two blobs, one larger than what is read at once.
pub(super) async fn fill(db: &Database, blobs: &BlobStore) -> Vec<BlobId> {
    for action in ["first", "second"] {
        let entry = entry(action);
        let work = move |tx: &mut palyra_storage::Tx<'_>| {
            tx.record(entry.clone());
            let (at, kind) = (START, "filled".to_owned());
            tx.emit(NewEvent { at, kind, subject: "ž".into(), body: serde_json::json!({"a": 1}) });
            Ok(())
        };
        db.write(work).await.unwrap();
        JournalStore::new(db.clone()).seal(START).await.unwrap();
    }
    db.write(|tx| ROWS.iter().try_for_each(|sql| tx.execute(sql, params![]).map(drop)))
        .await
        .unwrap();
    let mut ids = Vec::new();
    for content in [Bytes::from_static(b"small"), Bytes::from(vec![7; 20 << 20]), Bytes::new()] {
        let id = blobs.put(content).await.unwrap();
        let held = id.clone();
        db.try_write(move |tx| BlobStore::hold(tx, &held, "test", START)).await.unwrap();
        ids.push(id);
    }
    ids
}

/// All rows of all tables that travel.
pub(super) async fn everything(db: &Database) -> Vec<(&'static str, Vec<Vec<String>>)> {
    db.read(|tx| {
        EVERYTHING
            .iter()
            .map(|(name, sql)| Ok((*name, tx.query(sql, params![], |row| Ok(columns(row)))?)))
            .collect()
    })
    .await
    .unwrap()
}

fn columns(row: &Row<'_>) -> Vec<String> {
    let column = |index| {
        let int = row.get::<Option<i64>>(index).map(|value| format!("{value:?}"));
        let text = || row.get::<String>(index).map(|value| format!("{value:?}"));
        int.or_else(|_| text())
            .or_else(|_| row.get(index).map(|value: Vec<u8>| format!("{value:?}")))
    };
    (0..).map_while(|index| column(index).ok()).collect()
}

/// The names of the tables.
pub(super) fn tables() -> Vec<&'static str> {
    EVERYTHING.iter().map(|(name, _)| *name).collect()
}

/// Takes some leases and returns the last token.
pub(super) async fn token(leases: &Leases) -> i64 {
    let mut last = 0;
    for n in 0..10 {
        let name = LeaseName::new(format!("lease {n}"));
        last = leases.try_take(&name).await.unwrap().unwrap().token();
    }
    last
}

/// Takes a lease and returns its token.
pub(super) async fn first_token(leases: &Leases) -> i64 {
    leases.try_take(&LeaseName::new("first")).await.unwrap().unwrap().token()
}
