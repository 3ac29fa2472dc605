//! A schema in which one message of a platform settles one entry, made of one in which it did not.

use palyra_storage::{Database, MIGRATIONS, OpenOptions, Sql, params, sql};

use super::fixtures::Released;

/// The last schema that let several entries have one name.
const BEFORE: i64 = 8;

const INSERT: Sql = sql!(
    "INSERT INTO outbox (connector_id, envelope_id, part, conversation, native_message_id,
         changed_at, place, state, attempts, attempt_limit, doubtful, looks, created_at, version)
     VALUES ('echo:default', $1, 0, $2, $3, $4, 2, 'delivered', 1, 1, 0, 0, 0, 1)"
);
const NAMES: Sql = sql!("SELECT envelope_id, native_message_id FROM outbox ORDER BY envelope_id");

async fn the_first_of_several_keeps_a_name(old: Released) {
    let known = MIGRATIONS.iter().take_while(|step| step.version <= BEFORE).count();
    let options = OpenOptions { migrations: &MIGRATIONS[..known], ..old.options.clone() };
    let db = Database::open(options).await.unwrap();
    db.write(|tx| {
        for (envelope, conversation, name, changed_at) in [
            ("later", "general", Some("1"), 20i64),
            ("earlier", "general", Some("1"), 10),
            ("elsewhere", "other", Some("1"), 30),
            ("another", "general", Some("2"), 10),
            ("unnamed", "general", None, 10),
            ("one of two at once", "general", Some("3"), 10),
            ("two of two at once", "general", Some("3"), 10),
        ] {
            tx.execute(&INSERT, params![envelope, conversation, name, changed_at])?;
        }
        Ok(())
    })
    .await
    .unwrap();
    db.close().await;

    let db = Database::open(old.options.clone()).await.unwrap();
    let read = |row: &palyra_storage::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let found: Vec<(String, Option<String>)> =
        db.read(move |tx| tx.query(&NAMES, params![], read)).await.unwrap();
    let found: Vec<_> = found.iter().map(|(id, name)| (id.as_str(), name.as_deref())).collect();
    let expected = [
        ("another", Some("2")),
        ("earlier", Some("1")),
        ("elsewhere", Some("1")),
        ("later", None),
        ("one of two at once", Some("3")),
        ("two of two at once", None),
        ("unnamed", None),
    ];
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_of_several_keeps_a_name_on_sqlite() {
    the_first_of_several_keeps_a_name(Released::sqlite(BEFORE)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_of_several_keeps_a_name_on_postgres() {
    the_first_of_several_keeps_a_name(Released::postgres(BEFORE)).await;
}
