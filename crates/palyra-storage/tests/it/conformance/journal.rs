//! The journal cannot be changed unnoticed, and stays whole when it is cut back.

use palyra_common::error::ErrorCode;
use palyra_common::ids::EventId;
use palyra_common::time::{Duration, Timestamp};
use palyra_storage::journal::{ChainFault, ContentDigest, FaultKind, JournalEvent, Verified};
use palyra_storage::{Database, JournalStore, Sql, StorageError, new_id, params, sql};
use tokio::task::JoinSet;

use crate::world::{INSERT, START, World, on_every_engine};

on_every_engine!(
    what_is_recorded_verifies_and_comes_back,
    concurrent_records_form_one_chain,
    an_event_is_recorded_once,
    every_change_is_noticed,
    a_missing_entry_is_noticed,
    a_shortened_journal_is_noticed,
    segments_are_sealed_and_pruned_without_breaking_the_chain,
    pruning_leaves_the_head_to_those_who_record,
    a_large_unit_spans_segments,
    a_changed_tombstone_is_noticed,
    forgetting_a_salt_keeps_the_chain_whole,
);

fn entry(action: &str, at: Timestamp) -> JournalEvent {
    JournalEvent {
        id: new_id(),
        at,
        actor: "operator:anna".into(),
        action: action.into(),
        subject: "token:1".into(),
        origin: "cli".into(),
        outcome: "ok".into(),
        detail: "{}".into(),
        content: Some(ContentDigest::of(b"what was said")),
    }
}

async fn record(db: &Database, entries: Vec<JournalEvent>) -> Result<(), StorageError> {
    db.write(move |tx| {
        entries.iter().for_each(|entry| tx.record(entry.clone()));
        Ok(())
    })
    .await
}

async fn record_some(world: &World, count: usize) -> JournalStore {
    for n in 0..count {
        record(&world.db, vec![entry(&format!("action.{n}"), START)]).await.unwrap();
    }
    JournalStore::new(world.db.clone())
}

async fn tamper(world: &World, sql: &'static Sql) {
    let changed = world.db.write(move |tx| tx.execute(sql, params![])).await.unwrap();
    assert!(changed > 0, "nothing was tampered with");
}

fn fault(seq: i64, kind: FaultKind) -> Option<ChainFault> {
    Some(ChainFault { seq, kind })
}

async fn what_is_recorded_verifies_and_comes_back(world: World) {
    let journal = JournalStore::new(world.db.clone());
    let empty = Verified { entries: 0, pruned_segments: 0, fault: None };
    assert_eq!(journal.verify().await.unwrap(), empty);
    let first = entry("token.created", START);
    let second = JournalEvent { content: None, ..entry("token.revoked", START) };
    record(&world.db, vec![first.clone(), second.clone()]).await.unwrap();
    let page = journal.page_after(0, 10).await.unwrap();
    let back: Vec<_> = page.iter().map(|recorded| recorded.event.clone()).collect();
    assert_eq!(back, [first, second]);
    assert_eq!(page.iter().map(|recorded| recorded.seq).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(journal.verify().await.unwrap(), Verified { entries: 2, ..empty });
}

async fn concurrent_records_form_one_chain(world: World) {
    let other = world.second_node().await.unwrap_or_else(|| world.db.clone());
    let mut writers = JoinSet::new();
    for n in 0..40 {
        let db = if n % 2 == 0 { world.db.clone() } else { other.clone() };
        writers.spawn(async move {
            for _ in 0..3 {
                record(&db, vec![entry("a", START), entry("b", START)]).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let verified = JournalStore::new(world.db.clone()).verify().await.unwrap();
    assert_eq!(verified, Verified { entries: 240, pruned_segments: 0, fault: None });
}

async fn an_event_is_recorded_once(world: World) {
    let once = entry("token.created", START);
    record(&world.db, vec![once.clone()]).await.unwrap();
    let again = record(&world.db, vec![once]).await.unwrap_err();
    assert_eq!(again.code(), ErrorCode::StorageConstraint);
    let verified = JournalStore::new(world.db.clone()).verify().await.unwrap();
    assert_eq!((verified.entries, verified.fault), (1, None));
}

async fn every_change_is_noticed(world: World) {
    const CHANGES: [Sql; 8] = [
        sql!("UPDATE journal SET actor = actor || 'x' WHERE seq = 2"),
        sql!("UPDATE journal SET action = subject, subject = action WHERE seq = 2"),
        sql!("UPDATE journal SET origin = '' WHERE seq = 2"),
        sql!("UPDATE journal SET outcome = 'denied' WHERE seq = 2"),
        sql!("UPDATE journal SET detail = '{} ' WHERE seq = 2"),
        sql!("UPDATE journal SET at = at + 1 WHERE seq = 2"),
        sql!("UPDATE journal SET event_id = '01ARZ3NDEKTSV4RRFFQ69G5FAV' WHERE seq = 2"),
        sql!(
            "UPDATE journal SET content_digest = (SELECT hash FROM journal WHERE seq = 1)
              WHERE seq = 2"
        ),
    ];
    const SAVE: Sql = sql!("CREATE TABLE saved AS SELECT * FROM journal");
    const CLEAR: Sql = sql!("DELETE FROM journal");
    const RESTORE: Sql = sql!("INSERT INTO journal SELECT * FROM saved");
    let journal = record_some(&world, 4).await;
    world.db.write(|tx| tx.execute(&SAVE, params![])).await.unwrap();
    for change in &CHANGES {
        tamper(&world, change).await;
        let verified = journal.verify().await.unwrap();
        assert_eq!(verified.fault, fault(2, FaultKind::WrongHash), "{change:?}");
        assert_eq!(verified.entries, 1);
        tamper(&world, &CLEAR).await;
        tamper(&world, &RESTORE).await;
        assert_eq!(journal.verify().await.unwrap().fault, None);
    }
}

async fn a_missing_entry_is_noticed(world: World) {
    const REMOVE: Sql = sql!("DELETE FROM journal WHERE seq = 3");
    let journal = record_some(&world, 5).await;
    tamper(&world, &REMOVE).await;
    let broken = journal.verify().await.unwrap().fault;
    assert_eq!(broken, fault(3, FaultKind::Missing));
    let told = broken.unwrap().envelope();
    assert_eq!(told.known_code(), Some(ErrorCode::JournalBrokenChain));
    assert!(told.message().contains("entry 3"), "{told}");
}

async fn a_shortened_journal_is_noticed(world: World) {
    const CUT: Sql = sql!("DELETE FROM journal WHERE seq >= 4");
    const REWIND: Sql = sql!("UPDATE journal_head SET seq = 3");
    let journal = record_some(&world, 5).await;
    tamper(&world, &CUT).await;
    assert_eq!(journal.verify().await.unwrap().fault, fault(4, FaultKind::Missing));
    tamper(&world, &REWIND).await;
    assert_eq!(journal.verify().await.unwrap().fault, fault(4, FaultKind::WrongHead));
}

async fn segments_are_sealed_and_pruned_without_breaking_the_chain(world: World) {
    let journal = record_some(&world, 3).await;
    assert!(journal.seal(START).await.unwrap());
    assert!(!journal.seal(START).await.unwrap(), "an empty segment is not sealed");
    record_some(&world, 2).await;
    assert_eq!(journal.segments().await.unwrap().len(), 1);
    assert_eq!(journal.verify().await.unwrap().entries, 5);

    super::retention::sweep_after(&world, Duration::from_days(401)).await;
    let segments = journal.segments().await.unwrap();
    assert_eq!(segments.len(), 2, "the open segment was old enough to be sealed");
    assert!(segments[0].pruned_at.is_some() && segments[1].pruned_at.is_none());
    let expected = Verified { entries: 2, pruned_segments: 1, fault: None };
    assert_eq!(journal.verify().await.unwrap(), expected);
    assert_eq!(journal.page_after(0, 10).await.unwrap()[0].seq, 4);

    record_some(&world, 1).await;
    let expected = Verified { entries: 3, pruned_segments: 1, fault: None };
    assert_eq!(journal.verify().await.unwrap(), expected);
}

/// Writes down, whenever the head is taken, how many entries there were at that moment.
async fn watch_the_head(world: &World) {
    const WATCH: Sql = sql!(
        sqlite: "CREATE TRIGGER watch AFTER UPDATE ON journal_head BEGIN
                INSERT INTO notes (id, n)
                    SELECT 'taken-' || count(*), (SELECT count(*) FROM journal) FROM notes;
            END",
        postgres: "CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
                INSERT INTO notes (id, n)
                    SELECT ''taken-'' || count(*), (SELECT count(*) FROM journal) FROM notes;
                RETURN NEW;
            END'",
    );
    const ATTACH: Sql = sql!(
        "CREATE TRIGGER watch AFTER UPDATE ON journal_head FOR EACH ROW EXECUTE FUNCTION watch()"
    );
    let postgres = world.postgres.is_some();
    let watch = move |tx: &mut palyra_storage::Tx<'_>| {
        tx.execute(&WATCH, params![])?;
        if postgres { tx.execute(&ATTACH, params![]).map(drop) } else { Ok(()) }
    };
    world.db.write(watch).await.unwrap();
}

/// Whoever has the head keeps everybody else from recording: removing entries must not.
async fn pruning_leaves_the_head_to_those_who_record(world: World) {
    const TAKEN: Sql = sql!("SELECT n FROM notes");
    let taken = || async {
        let counts =
            |tx: &mut palyra_storage::Tx<'_>| tx.query(&TAKEN, params![], |row| row.get::<i64>(0));
        world.db.read(counts).await.unwrap()
    };
    let journal = record_some(&world, 3).await;
    journal.seal(START).await.unwrap();
    record_some(&world, 2).await;
    watch_the_head(&world).await;
    super::retention::sweep_after(&world, Duration::from_days(401)).await;
    let after_sealing = taken().await;
    assert!(!after_sealing.is_empty(), "the open segment was old enough to be sealed");
    assert!(after_sealing.iter().all(|entries| *entries == 2), "{after_sealing:?}");

    super::retention::sweep_after(&world, Duration::from_days(401)).await;
    assert_eq!(journal.page_after(0, 10).await.unwrap(), []);
    assert_eq!(taken().await, after_sealing, "nothing was there to be sealed");
}

async fn a_large_unit_spans_segments(world: World) {
    let journal = record_some(&world, 2).await;
    let many: Vec<_> = (0..10_500).map(|_| entry("bulk", START)).collect();
    record(&world.db, many).await.unwrap();
    let segments = journal.segments().await.unwrap();
    assert_eq!((segments.len(), segments[0].first_seq, segments[0].last_seq), (1, 1, 10_000));
    let expected = Verified { entries: 10_502, pruned_segments: 0, fault: None };
    assert_eq!(journal.verify().await.unwrap(), expected);
}

async fn a_changed_tombstone_is_noticed(world: World) {
    const FORGE: Sql =
        sql!("UPDATE journal_segments SET final_hash = (SELECT hash FROM journal WHERE seq = 5)");
    let journal = record_some(&world, 3).await;
    journal.seal(START).await.unwrap();
    record_some(&world, 3).await;
    tamper(&world, &FORGE).await;
    assert_eq!(journal.verify().await.unwrap().fault, fault(3, FaultKind::WrongSegment));
    const PRUNE: Sql = sql!("UPDATE journal_segments SET pruned_at = 1");
    tamper(&world, &PRUNE).await;
    assert_eq!(journal.verify().await.unwrap().fault, fault(4, FaultKind::WrongHash));
}

async fn forgetting_a_salt_keeps_the_chain_whole(world: World) {
    let said = entry("message.sent", START);
    let id: EventId = said.id;
    record(&world.db, vec![said]).await.unwrap();
    let journal = JournalStore::new(world.db.clone());
    let digest = |page: Vec<palyra_storage::journal::Recorded>| page[0].event.content.clone();
    let kept = digest(journal.page_after(0, 1).await.unwrap()).unwrap();
    assert_eq!(kept.is_of(b"what was said"), Some(true));
    assert_eq!(kept.is_of(b"what was not said"), Some(false));
    assert!(journal.forget_salt(id).await.unwrap());
    let kept = digest(journal.page_after(0, 1).await.unwrap()).unwrap();
    assert_eq!(kept.is_of(b"what was said"), None);
    assert_eq!(journal.verify().await.unwrap().fault, None);
    // Only to be sure that the fixture writes to the same database as the journal.
    world.db.write(|tx| tx.execute(&INSERT, params!["a", 1i64])).await.unwrap();
}
