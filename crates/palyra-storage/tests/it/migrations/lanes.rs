//! What was said before the order of a conversation was that of its lane.

use palyra_storage::{Database, MIGRATIONS, OpenOptions, Sql, params, sql};

use super::fixtures::Released;

/// The last schema in which the numbers of a lane could begin anew.
const SCHEMA: i64 = 9;

/// Name, conversation, number, place, state, time of the last change.
type Entry<'a> = (&'a str, &'a str, Option<i64>, i64, &'a str, i64);

const BEFORE: [Entry<'_>; 13] = [
    // The numbers began anew each time that nothing was in the lane.
    ("first", "a", Some(0), 2, "delivered", 1),
    ("second", "a", Some(1), 2, "delivered", 2),
    ("third", "a", Some(0), 2, "delivered", 3),
    ("taken-back", "a", Some(0), 2, "cancelled", 3),
    ("key", "a", Some(5), 3, "delivered", 0),
    // This one is from a schema in which what had ended had no number.
    ("elsewhere", "b", None, 2, "delivered", 9),
    ("in-doubt", "a", Some(0), 1, "unknown", 4),
    ("behind-it", "a", Some(1), 1, "pending", 4),
    ("dead", "a", Some(2), 1, "dead", 4),
    ("held", "a", None, 1, "held", 4),
    ("waits", "a", Some(3), 0, "pending", 4),
    // It came back while the one behind it was being sent, which is the first of its lane until then.
    ("came-back", "c", Some(0), 0, "pending", 4),
    ("goes-out", "c", Some(1), 0, "sending", 4),
];

const AFTER: [&str; 13] = [
    "behind-it 1 1",
    "came-back -1 0",
    "dead 1 2",
    "elsewhere 2 -1",
    "first 2 -3",
    "goes-out 0 1",
    "held 1 -",
    "in-doubt 1 0",
    "key 3 -",
    "second 2 -2",
    "taken-back 2 -",
    "third 2 -1",
    "waits 0 3",
];

async fn what_was_said_is_in_the_order_of_its_lane(old: Released) {
    const CONNECTOR: Sql = sql!(
        "INSERT INTO connectors (id, kind, enabled, settings, queue, readiness, stopped_before,
             version, created_at)
         VALUES ('echo:default', 'echo', 1, '{}', '{}', 'ready', 0, 1, 1)"
    );
    const ENTRY: Sql = sql!(
        "INSERT INTO outbox (connector_id, envelope_id, part, conversation, lane_seq, place, state,
             attempts, attempt_limit, doubtful, looks, operation, created_at, changed_at, version)
         VALUES ('echo:default', $1, 0, $2, $3, $4, $5, 0, 8, 0, 0, '{}', 0, $6, 0)"
    );
    const LANE: Sql = sql!(
        "INSERT INTO outbox_lanes (connector_id, conversation, next_seq, depth, head_seq)
         VALUES ('echo:default', $1, $2, $3, $4)"
    );
    const PLACES: Sql = sql!(
        "SELECT envelope_id || ' ' || place || ' ' || coalesce(CAST(lane_seq AS TEXT), '-')
         FROM outbox ORDER BY envelope_id"
    );
    let known = MIGRATIONS.iter().take_while(|step| step.version <= SCHEMA).count();
    let options = OpenOptions { migrations: &MIGRATIONS[..known], ..old.options.clone() };
    let db = Database::open(options).await.unwrap();
    let fill = |tx: &mut palyra_storage::Tx<'_>| {
        tx.execute(&CONNECTOR, params![])?;
        for (name, conversation, number, place, state, changed) in BEFORE {
            tx.execute(&ENTRY, params![name, conversation, number, place, state, changed])?;
        }
        tx.execute(&LANE, params!["a", 4i64, 1i64, 3i64])?;
        tx.execute(&LANE, params!["c", 2i64, 2i64, 1i64])?;
        Ok(())
    };
    db.write(fill).await.unwrap();
    db.close().await;
    let db = Database::open(old.options.clone()).await.unwrap();
    let named = |row: &palyra_storage::Row<'_>| row.get::<String>(0);
    let found = db.read(move |tx| tx.query(&PLACES, params![], named)).await.unwrap();
    assert_eq!(found, AFTER);
    db.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_is_in_the_order_of_its_lane_on_sqlite() {
    what_was_said_is_in_the_order_of_its_lane(Released::sqlite(SCHEMA)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_is_in_the_order_of_its_lane_on_postgres() {
    what_was_said_is_in_the_order_of_its_lane(Released::postgres(SCHEMA)).await;
}
