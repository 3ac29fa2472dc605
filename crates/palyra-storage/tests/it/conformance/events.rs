//! The feed is numbered in the order of commits: a reader that follows it misses nothing.

use palyra_common::time::Duration;
use palyra_storage::events::{self, NewEvent};
use palyra_storage::{StorageError, params};
use serde_json::json;
use tokio::task::JoinSet;

use crate::world::{INSERT, START, World, on_every_engine};

on_every_engine!(
    events_are_numbered_without_gaps,
    a_cursor_never_skips_an_event,
    a_unit_that_is_undone_emits_nothing,
    a_page_says_what_is_no_longer_kept,
    an_old_event_after_a_new_one_is_kept_with_it,
    pruning_goes_in_steps,
);

fn event(subject: impl Into<String>) -> NewEvent {
    NewEvent { at: START, kind: "tested".into(), subject: subject.into(), body: json!({"a": [1]}) }
}

async fn events_are_numbered_without_gaps(world: World) {
    world
        .db
        .write(|tx| {
            tx.emit(event("one"));
            tx.emit(event("two"));
            Ok(())
        })
        .await
        .unwrap();
    world
        .db
        .write(|tx| {
            tx.emit(event("three"));
            Ok(())
        })
        .await
        .unwrap();
    let page = events::page_after(&world.db, 0, 10).await.unwrap();
    let seen: Vec<_> = page.events.iter().map(|e| (e.seq, e.subject.as_str())).collect();
    assert_eq!(seen, [(1, "one"), (2, "two"), (3, "three")]);
    assert_eq!(page.events[0].body, json!({"a": [1]}));
    assert_eq!(events::newest(&world.db).await.unwrap(), 3);
}

/// On a database whose rows become visible in another order than they were numbered, the follower
/// would read past a number that is not visible yet, and never see it.
async fn a_cursor_never_skips_an_event(world: World) {
    const WRITERS: i64 = 16;
    const EACH: i64 = 12;
    let other = world.second_node().await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let db = match &other {
            Some(other) if writer % 2 == 0 => other.clone(),
            _ => world.db.clone(),
        };
        writers.spawn(async move {
            for n in 0..EACH {
                let id = format!("{writer}-{n}");
                db.write(move |tx| {
                    tx.emit(event(id.clone()));
                    tx.execute(&INSERT, params![&id, n]).map(drop)
                })
                .await
                .unwrap();
            }
        });
    }
    let mut news = world.db.subscribe(events::TOPIC);
    let mut cursor = 0;
    while cursor < WRITERS * EACH {
        let page = events::page_after(&world.db, cursor, 7).await.unwrap();
        for event in &page.events {
            assert_eq!(event.seq, cursor + 1, "a number was skipped");
            cursor = event.seq;
        }
        if page.events.is_empty() {
            let waited = std::time::Duration::from_secs(20);
            tokio::time::timeout(waited, news.changed()).await.expect("the feed has stopped");
        }
    }
    writers.join_all().await;
    assert_eq!(events::newest(&world.db).await.unwrap(), WRITERS * EACH);
}

async fn a_unit_that_is_undone_emits_nothing(world: World) {
    let refused = world
        .db
        .write(|tx| {
            tx.emit(event("lost"));
            tx.execute(&INSERT, params!["a", 1i64])?;
            tx.execute(&INSERT, params!["a", 1i64])
        })
        .await;
    assert!(refused.is_err());
    world
        .db
        .write(|tx| {
            let part: Result<(), StorageError> = tx.savepoint(|tx| {
                tx.emit(event("undone"));
                Err(StorageError::ShuttingDown)
            });
            assert!(part.is_err());
            tx.emit(event("kept"));
            Ok(())
        })
        .await
        .unwrap();
    let page = events::page_after(&world.db, 0, 10).await.unwrap();
    let seen: Vec<_> = page.events.iter().map(|e| (e.seq, e.subject.as_str())).collect();
    assert_eq!(seen, [(1, "kept")]);
}

async fn a_page_says_what_is_no_longer_kept(world: World) {
    for at in [START, START + Duration::from_hours(1)] {
        let emit = move |tx: &mut palyra_storage::Tx<'_>| {
            tx.emit(NewEvent { at, ..event("x") });
            Ok(())
        };
        world.db.write(emit).await.unwrap();
    }
    assert_eq!(events::page_after(&world.db, 0, 10).await.unwrap().pruned_through, 0);
    super::retention::sweep_after(&world, Duration::from_mins(30 * 24 * 60 + 1)).await;
    let page = events::page_after(&world.db, 0, 10).await.unwrap();
    assert_eq!((page.events.len(), page.pruned_through), (1, 1));
    super::retention::sweep_after(&world, Duration::from_days(30)).await;
    let page = events::page_after(&world.db, 0, 10).await.unwrap();
    assert_eq!((page.events.len(), page.pruned_through), (0, 2));
}

/// The time of an event is its caller's and need not follow its number. A hole in the middle would
/// be invisible to a reader, who only learns up to where nothing is kept.
async fn an_old_event_after_a_new_one_is_kept_with_it(world: World) {
    let new = START + Duration::from_days(10);
    for at in [START, START, new, START, new] {
        let emit = move |tx: &mut palyra_storage::Tx<'_>| {
            tx.emit(NewEvent { at, ..event("x") });
            Ok(())
        };
        world.db.write(emit).await.unwrap();
    }
    super::retention::sweep_after(&world, Duration::from_days(31)).await;
    let page = events::page_after(&world.db, 0, 10).await.unwrap();
    let kept: Vec<_> = page.events.iter().map(|event| event.seq).collect();
    assert_eq!((kept, page.pruned_through), (vec![3, 4, 5], 2));
    super::retention::sweep_after(&world, Duration::from_days(10)).await;
    let page = events::page_after(&world.db, 0, 10).await.unwrap();
    assert_eq!((page.events.len(), page.pruned_through), (0, 5));
}

async fn pruning_goes_in_steps(world: World) {
    const OLD: usize = 1_201;
    let emit = |tx: &mut palyra_storage::Tx<'_>| {
        (0..OLD).for_each(|_| tx.emit(event("old")));
        tx.emit(NewEvent { at: START + Duration::from_days(10), ..event("new") });
        Ok(())
    };
    world.db.write(emit).await.unwrap();
    let swept = super::retention::sweep_after(&world, Duration::from_days(31)).await;
    assert_eq!(swept[0], ("events", OLD as u64));
    let page = events::page_after(&world.db, 0, 10).await.unwrap();
    assert_eq!((page.events.len(), page.pruned_through), (1, OLD as i64));
}
