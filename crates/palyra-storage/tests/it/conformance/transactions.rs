//! Units of work are kept whole or not at all, whoever else is at work.

use palyra_common::error::ErrorCode;
use palyra_storage::{Sql, StorageError, params, sql};
use tokio::task::JoinSet;

use crate::world::{ADD, INSERT, VALUE, World, count, insert, on_every_engine, value};

on_every_engine!(
    what_was_answered_is_there,
    what_is_answered_is_on_the_disk,
    a_refused_unit_leaves_nothing,
    a_refusal_of_its_own_undoes_a_unit,
    a_swallowed_failure_is_not_kept,
    a_savepoint_undoes_only_its_part,
    what_is_done_later_is_done_in_its_place,
    what_is_only_done_later_is_kept,
    what_is_refused_later_undoes_all,
    what_cannot_be_done_later_undoes_all,
    a_savepoint_undoes_what_was_to_be_done_later,
    a_panicking_unit_harms_nobody,
    a_panic_inside_a_savepoint_leaves_nothing,
    a_defect_in_a_statement_harms_nobody,
    one_callers_failure_spares_its_neighbours,
    one_callers_refusal_undoes_only_what_it_wrote,
    a_reader_cannot_write,
    a_reader_sees_one_state,
    nothing_is_lost_between_concurrent_units,
    units_in_each_others_way_are_run_again,
    a_closed_database_refuses_and_has_kept_everything,
    a_caller_that_went_away_does_not_disturb,
);

/// No kill shows this, only a machine that loses its power.
async fn what_is_answered_is_on_the_disk(world: World) {
    const SETTINGS: Sql = sql!(
        sqlite: "SELECT CAST(synchronous AS TEXT) || ' ' || journal_mode
            FROM pragma_synchronous, pragma_journal_mode",
        postgres: "SELECT current_setting('synchronous_commit')",
    );
    let read = |tx: &mut palyra_storage::Tx<'_>| {
        tx.query_one(&SETTINGS, params![], |row| row.get::<String>(0))
    };
    let expected = if world.postgres.is_some() { "on" } else { "2 wal" };
    assert_eq!(world.db.write(read).await.unwrap(), expected);
}

async fn what_was_answered_is_there(world: World) {
    insert(&world.db, "a", 1).await.unwrap();
    assert_eq!(value(&world.db, "a").await, Some(1));
}

async fn a_refused_unit_leaves_nothing(world: World) {
    insert(&world.db, "a", 1).await.unwrap();
    let refused = world
        .db
        .write(|tx| {
            tx.execute(&INSERT, params!["b", 1i64])?;
            tx.execute(&INSERT, params!["a", 2i64])
        })
        .await;
    assert_eq!(refused.unwrap_err().code(), ErrorCode::StorageConstraint);
    assert_eq!(count(&world.db).await, 1);
}

#[derive(Debug, PartialEq)]
enum Refusal {
    TooMany,
    Storage(ErrorCode),
}

impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Self {
        Refusal::Storage(error.code())
    }
}

async fn a_refusal_of_its_own_undoes_a_unit(world: World) {
    let refused: Result<(), Refusal> = world
        .db
        .try_write(|tx| {
            tx.execute(&INSERT, params!["a", 1i64])?;
            Err(Refusal::TooMany)
        })
        .await;
    assert_eq!(refused, Err(Refusal::TooMany));
    assert_eq!(count(&world.db).await, 0);
}

async fn a_swallowed_failure_is_not_kept(world: World) {
    insert(&world.db, "a", 1).await.unwrap();
    let outcome = world
        .db
        .write(|tx| {
            tx.execute(&INSERT, params!["b", 1i64])?;
            let _ = tx.execute(&INSERT, params!["a", 2i64]);
            Ok(())
        })
        .await;
    assert_eq!(outcome.unwrap_err().code(), ErrorCode::StorageConstraint);
    assert_eq!(count(&world.db).await, 1);
}

async fn a_savepoint_undoes_only_its_part(world: World) {
    world
        .db
        .write(|tx| {
            tx.execute(&INSERT, params!["a", 1i64])?;
            let part: Result<(), StorageError> = tx.savepoint(|tx| {
                tx.execute(&INSERT, params!["b", 1i64])?;
                tx.savepoint::<_, StorageError>(|tx| tx.execute(&INSERT, params!["c", 1i64]))?;
                tx.execute(&INSERT, params!["a", 2i64]).map(drop)
            });
            assert_eq!(part.unwrap_err().code(), ErrorCode::StorageConstraint);
            tx.savepoint::<_, StorageError>(|tx| tx.execute(&INSERT, params!["d", 1i64]))?;
            tx.execute(&INSERT, params!["e", 1i64]).map(drop)
        })
        .await
        .unwrap();
    let mut seen = Vec::new();
    for id in ["a", "b", "c", "d", "e"] {
        seen.push(value(&world.db, id).await.is_some());
    }
    assert_eq!(seen, [true, false, false, true, true]);
}

const MORE: Sql = sql!("UPDATE notes SET n = n + $2 WHERE id = $1");

async fn what_is_done_later_is_done_in_its_place(world: World) {
    let seen = world
        .db
        .write(|tx| {
            tx.execute(&INSERT, params!["first", 0i64])?;
            // More than are kept back at once.
            for n in 0..200i64 {
                tx.execute_later(&INSERT, params![&format!("{n}"), n])?;
                tx.execute_later(&MORE, params![&format!("{n}"), 1i64])?;
            }
            tx.query_one(&VALUE, params!["199"], |row| row.get::<i64>(0))
        })
        .await
        .unwrap();
    assert_eq!(seen, 200);
    assert_eq!(count(&world.db).await, 201);
    assert_eq!(value(&world.db, "0").await, Some(1));
}

async fn what_is_only_done_later_is_kept(world: World) {
    let later = |tx: &mut palyra_storage::Tx<'_>| {
        tx.execute_later(&INSERT, params!["a", 1i64])?;
        tx.execute_later(&MORE, params!["a", 1i64])
    };
    world.db.write(later).await.unwrap();
    assert_eq!(value(&world.db, "a").await, Some(2));
}

async fn what_is_refused_later_undoes_all(world: World) {
    insert(&world.db, "a", 1).await.unwrap();
    // Seen at the commit, and at the next statement.
    for more in [false, true] {
        let refused = world.db.write(move |tx| {
            tx.execute(&INSERT, params!["b", 1i64])?;
            tx.execute_later(&INSERT, params!["a", 2i64])?;
            tx.execute_later(&INSERT, params!["c", 2i64])?;
            if more { tx.execute(&INSERT, params!["d", 2i64]) } else { Ok(0) }
        });
        assert_eq!(refused.await.unwrap_err().code(), ErrorCode::StorageConstraint);
        assert_eq!(count(&world.db).await, 1);
    }
    insert(&world.db, "b", 1).await.unwrap();
}

/// A text where the column holds a number. Nothing is kept without it, also where it is the last.
async fn what_cannot_be_done_later_undoes_all(world: World) {
    for more in [false, true] {
        let defect = world.db.write(move |tx| {
            tx.execute(&INSERT, params!["a", 1i64])?;
            tx.execute_later(&INSERT, params!["b", 1i64])?;
            tx.execute_later(&INSERT, params!["c", "none"])?;
            if more { tx.execute(&INSERT, params!["d", 1i64]) } else { Ok(0) }
        });
        assert_eq!(defect.await.unwrap_err().code(), ErrorCode::StorageInternal);
        assert_eq!(count(&world.db).await, 0);
    }
    insert(&world.db, "a", 1).await.unwrap();
}

async fn a_savepoint_undoes_what_was_to_be_done_later(world: World) {
    insert(&world.db, "a", 1).await.unwrap();
    let kept = world.db.write(|tx| {
        tx.execute(&INSERT, params!["b", 1i64])?;
        tx.execute_later(&INSERT, params!["c", 1i64])?;
        let refused = tx.savepoint::<_, StorageError>(|tx| {
            tx.execute_later(&INSERT, params!["d", 1i64])?;
            tx.execute_later(&INSERT, params!["a", 1i64])
        });
        assert_eq!(refused.unwrap_err().code(), ErrorCode::StorageConstraint);
        // A refusal of its own, with something that was not sent yet.
        let refused: Result<(), StorageError> = tx.savepoint(|tx| {
            tx.execute_later(&INSERT, params!["e", 1i64])?;
            tx.execute_later(&INSERT, params!["U+0000 \0", 1i64])
        });
        assert_eq!(refused.unwrap_err().code(), ErrorCode::StorageInvalidValue);
        tx.savepoint::<_, StorageError>(|tx| tx.execute_later(&INSERT, params!["f", 1i64]))?;
        tx.execute_later(&INSERT, params!["g", 1i64])
    });
    kept.await.unwrap();
    assert_eq!(count(&world.db).await, 5);
    for (name, there) in [("b", true), ("c", true), ("d", false), ("e", false), ("g", true)] {
        assert_eq!(value(&world.db, name).await.is_some(), there, "{name}");
    }
}

async fn a_panicking_unit_harms_nobody(world: World) {
    let outcome: Result<(), _> = world
        .db
        .write(|tx| {
            tx.execute(&INSERT, params!["a", 1i64])?;
            panic!("a defect of the caller");
        })
        .await;
    assert_eq!(outcome.unwrap_err().code(), ErrorCode::StorageInternal);
    insert(&world.db, "b", 1).await.unwrap();
    assert_eq!(count(&world.db).await, 1);
}

async fn a_panic_inside_a_savepoint_leaves_nothing(world: World) {
    let outcome: Result<(), StorageError> = world
        .db
        .write(|tx| {
            tx.execute(&INSERT, params!["a", 1i64])?;
            tx.savepoint(|_| panic!("a defect of the caller"))
        })
        .await;
    assert_eq!(outcome.unwrap_err().code(), ErrorCode::StorageInternal);
    insert(&world.db, "b", 1).await.unwrap();
    assert_eq!(count(&world.db).await, 1);
}

async fn a_defect_in_a_statement_harms_nobody(world: World) {
    const NONSENSE: Sql = sql!("SELECT nonsense FROM nowhere");
    let nonsense = world.db.write(|tx| tx.execute(&NONSENSE, params![])).await;
    assert_eq!(nonsense.unwrap_err().code(), ErrorCode::StorageInternal);
    let too_few = world.db.write(|tx| tx.execute(&INSERT, params!["a"])).await;
    assert_eq!(too_few.unwrap_err().code(), ErrorCode::StorageInternal);
    insert(&world.db, "b", 1).await.unwrap();
    assert_eq!(count(&world.db).await, 1);
}

async fn one_callers_failure_spares_its_neighbours(world: World) {
    insert(&world.db, "taken", 0).await.unwrap();
    let mut callers = JoinSet::new();
    for n in 0..200i64 {
        let db = world.db.clone();
        callers.spawn(async move {
            let id = if n % 5 == 0 { "taken".to_owned() } else { format!("free-{n}") };
            let outcome = db.write(move |tx| tx.execute(&INSERT, params![&id, n]).map(drop)).await;
            assert_eq!(outcome.is_err(), n % 5 == 0, "caller {n}: {outcome:?}");
        });
    }
    callers.join_all().await;
    assert_eq!(count(&world.db).await, 1 + 160);
}

/// Whoever shares a commit with one that is undone is told what holds without it.
async fn one_callers_refusal_undoes_only_what_it_wrote(world: World) {
    insert(&world.db, "sum", 0).await.unwrap();
    let mut callers = JoinSet::new();
    for n in 0..200i64 {
        let db = world.db.clone();
        callers.spawn(async move {
            let refuses = n % 5 == 0;
            let add = if refuses { 1000i64 } else { 1 };
            let outcome = db.try_write(move |tx| {
                let sum = tx.query_one(&ADD, params!["sum", add], |row| row.get::<i64>(0))?;
                if refuses { Err(Refusal::TooMany) } else { Ok(sum) }
            });
            let outcome = outcome.await;
            assert_eq!(outcome.is_err(), refuses, "caller {n}: {outcome:?}");
            outcome.ok()
        });
    }
    let mut seen: Vec<i64> = callers.join_all().await.into_iter().flatten().collect();
    seen.sort_unstable();
    assert_eq!(seen, (1..=160).collect::<Vec<i64>>());
    assert_eq!(value(&world.db, "sum").await, Some(160));
}

async fn a_reader_cannot_write(world: World) {
    let refused = world.db.read(|tx| tx.execute(&INSERT, params!["a", 1i64])).await;
    assert_eq!(refused.unwrap_err().code(), ErrorCode::StorageReadOnly);
    assert_eq!(count(&world.db).await, 0);
}

async fn a_reader_sees_one_state(world: World) {
    insert(&world.db, "a", 0).await.unwrap();
    let writer = world.db.clone();
    let writes = tokio::spawn(async move {
        for _ in 0..100 {
            let add = |tx: &mut palyra_storage::Tx<'_>| {
                tx.query_one(&ADD, params!["a", 1i64], |row| row.get::<i64>(0))
            };
            writer.write(add).await.unwrap();
        }
    });
    for _ in 0..50 {
        let (first, second) = world
            .db
            .read(|tx| {
                let first: i64 = tx.query_one(&VALUE, params!["a"], |row| row.get(0))?;
                for _ in 0..5 {
                    std::thread::yield_now();
                }
                let second: i64 = tx.query_one(&VALUE, params!["a"], |row| row.get(0))?;
                Ok((first, second))
            })
            .await
            .unwrap();
        assert_eq!(first, second);
    }
    writes.await.unwrap();
}

async fn nothing_is_lost_between_concurrent_units(world: World) {
    insert(&world.db, "sum", 0).await.unwrap();
    let mut callers = JoinSet::new();
    for _ in 0..100 {
        let db = world.db.clone();
        callers.spawn(async move {
            db.write(|tx| {
                // Read, then write: two units that interleave would lose one of the additions if
                // the statement that adds did not read for itself.
                tx.query_one(&ADD, params!["sum", 1i64], |row| row.get::<i64>(0))
            })
            .await
            .unwrap()
        });
    }
    let mut seen = callers.join_all().await;
    seen.sort_unstable();
    assert_eq!(seen, (1..=100).collect::<Vec<i64>>());
}

async fn units_in_each_others_way_are_run_again(world: World) {
    insert(&world.db, "a", 0).await.unwrap();
    insert(&world.db, "b", 0).await.unwrap();
    let mut callers = JoinSet::new();
    for n in 0..16 {
        let db = world.db.clone();
        callers.spawn(async move {
            // Half of them lock the rows in the other order: a deadlock, where rows are locked.
            let (first, second) = if n % 2 == 0 { ("a", "b") } else { ("b", "a") };
            db.write(move |tx| {
                tx.query_one(&ADD, params![first, 1i64], |row| row.get::<i64>(0))?;
                tx.query_one(&ADD, params![second, 1i64], |row| row.get::<i64>(0))
            })
            .await
            .unwrap();
        });
    }
    callers.join_all().await;
    assert_eq!((value(&world.db, "a").await, value(&world.db, "b").await), (Some(16), Some(16)));
}

async fn a_closed_database_refuses_and_has_kept_everything(world: World) {
    let mut callers = JoinSet::new();
    for n in 0..100i64 {
        let db = world.db.clone();
        callers.spawn(async move {
            let id = n.to_string();
            db.write(move |tx| tx.execute(&INSERT, params![&id, n]).map(drop)).await.is_ok()
        });
    }
    tokio::task::yield_now().await;
    world.db.close().await;
    let kept = callers.join_all().await.into_iter().filter(|kept| *kept).count();
    let refused = insert(&world.db, "late", 1).await;
    assert_eq!(refused.unwrap_err().code(), ErrorCode::StorageShuttingDown);

    let again = palyra_storage::Database::open(world.options.clone()).await.unwrap();
    assert_eq!(count(&again).await, kept as i64);
}

async fn a_caller_that_went_away_does_not_disturb(world: World) {
    for n in 0..50i64 {
        let id = n.to_string();
        let db = world.db.clone();
        let call = tokio::spawn(async move {
            db.write(move |tx| tx.execute(&INSERT, params![&id, n]).map(drop)).await
        });
        tokio::task::yield_now().await;
        call.abort();
    }
    insert(&world.db, "last", 1).await.unwrap();
    assert_eq!(value(&world.db, "last").await, Some(1));
}
