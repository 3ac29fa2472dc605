//! Values come back as they went in, and text is compared bytewise.

use palyra_common::error::ErrorCode;
use palyra_common::ids::RunId;
use palyra_common::time::Timestamp;
use palyra_storage::{Param, Sql, params, sql, text};

use crate::world::{START, World, on_every_engine};

on_every_engine!(
    every_shape_comes_back_as_it_went_in,
    a_wrong_shape_is_refused,
    text_with_a_null_character_is_refused,
    keys_are_compared_bytewise,
    many_rows_are_written_by_one_call,
    one_of_many_rows_that_is_refused_undoes_all,
    an_error_does_not_repeat_the_row,
);

const PUT: Sql = sql!("INSERT INTO notes (id, n, real, bytes, note) VALUES ($1, $2, $3, $4, $5)");
const GET: Sql = sql!("SELECT id, n, real, bytes, note FROM notes WHERE id = $1");
const IDS: Sql = sql!("SELECT id FROM notes ORDER BY id");
const ABOVE: Sql = sql!("SELECT count(*) FROM notes WHERE id > $1");

type Whole = (String, i64, Option<f64>, Option<Vec<u8>>, Option<String>);

async fn every_shape_comes_back_as_it_went_in(world: World) {
    let long = "ä\u{1F980}\u{202E}'\"\\%_\n".repeat(2_000);
    let cases: Vec<Whole> = vec![
        ("a".into(), 0, None, None, None),
        ("b".into(), i64::MAX, Some(f64::MAX), Some(vec![]), Some(String::new())),
        ("c".into(), i64::MIN, Some(-0.5), Some((0..=255).collect()), Some(long)),
        (String::new(), -1, Some(f64::MIN_POSITIVE), Some(vec![0; 100_000]), Some(" x ".into())),
    ];
    for case in cases {
        let (id, n, real, bytes, note) = case.clone();
        let key = id.clone();
        let put = move |tx: &mut palyra_storage::Tx<'_>| {
            let params = params![&id, n, real, bytes.as_deref(), note.as_deref()];
            tx.execute(&PUT, params)
        };
        assert_eq!(world.db.write(put).await.unwrap(), 1);
        let back: Whole = world
            .db
            .read(move |tx| {
                tx.query_one(&GET, params![&key], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
                })
            })
            .await
            .unwrap();
        assert_eq!(back, case);
    }
}

async fn a_wrong_shape_is_refused(world: World) {
    let run = RunId::from_parts(START, 7);
    let put = move |tx: &mut palyra_storage::Tx<'_>| {
        tx.execute(&PUT, params![text(run), START, Param::Null, Param::Null, "not a number"])
    };
    world.db.write(put).await.unwrap();
    let read = |index: usize| {
        let db = world.db.clone();
        async move {
            db.read(move |tx| {
                tx.query_one(&GET, params![text(run)], |row| {
                    Ok(match index {
                        0 => row.parse::<RunId>(0)?.to_string(),
                        1 => row.get::<Timestamp>(1)?.to_string(),
                        2 => row.get::<f64>(2)?.to_string(),
                        3 => row.get::<i64>(4)?.to_string(),
                        _ => row.parse::<RunId>(4)?.to_string(),
                    })
                })
            })
            .await
        }
    };
    assert_eq!(read(0).await.unwrap(), run.to_string());
    assert_eq!(read(1).await.unwrap(), START.to_string());
    for index in 2..5 {
        let refused = read(index).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::StorageInvalidValue, "{refused}");
    }
}

async fn text_with_a_null_character_is_refused(world: World) {
    let put = |tx: &mut palyra_storage::Tx<'_>| {
        tx.execute(&PUT, params!["a\0b", 1i64, Param::Null, Param::Null, Param::Null])
    };
    let refused = world.db.write(put).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageInvalidValue);
}

async fn keys_are_compared_bytewise(world: World) {
    let ids = ["a", "B", "ä", "Z", "_", "a b", "ab", "A"];
    world
        .db
        .write(move |tx| {
            let sets =
                ids.map(|id| [id.into(), 1i64.into(), Param::Null, Param::Null, Param::Null]);
            tx.execute_many(&PUT, sets)
        })
        .await
        .unwrap();
    let sorted: Vec<String> =
        world.db.read(|tx| tx.query(&IDS, params![], |row| row.get(0))).await.unwrap();
    let mut expected = ids;
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    let above: i64 =
        world.db.read(|tx| tx.query_one(&ABOVE, params!["Z"], |row| row.get(0))).await.unwrap();
    assert_eq!(above, 5);
}

async fn many_rows_are_written_by_one_call(world: World) {
    let written = world
        .db
        .write(|tx| {
            let sets =
                (0..300i64).map(|n| [text(n), n.into(), Param::Null, Param::Null, Param::Null]);
            tx.execute_many(&PUT, sets)
        })
        .await
        .unwrap();
    assert_eq!(written, vec![1; 300]);
    assert_eq!(crate::world::count(&world.db).await, 300);
}

/// Also where the rest is on its way already.
async fn one_of_many_rows_that_is_refused_undoes_all(world: World) {
    let sets = |twice: bool| {
        let name = move |n: i64| if twice && n == 150 { 149 } else { n };
        (0..300i64).map(move |n| [text(name(n)), n.into(), Param::Null, Param::Null, Param::Null])
    };
    let refused = world.db.write(move |tx| tx.execute_many(&PUT, sets(true))).await;
    assert_eq!(refused.unwrap_err().code(), ErrorCode::StorageConstraint);
    assert_eq!(crate::world::count(&world.db).await, 0);
    let kept = world.db.write(move |tx| {
        let refused = tx.savepoint(|part| part.execute_many(&PUT, sets(true)));
        assert_eq!(refused.unwrap_err().code(), ErrorCode::StorageConstraint);
        tx.execute_many(&PUT, sets(false))
    });
    assert_eq!(kept.await.unwrap().len(), 300);
    assert_eq!(crate::world::count(&world.db).await, 300);
}

async fn an_error_does_not_repeat_the_row(world: World) {
    const NO_NUMBER: Sql = sql!("INSERT INTO notes (id, n, note) VALUES ($1, NULL, $2)");
    let put = |tx: &mut palyra_storage::Tx<'_>| tx.execute(&NO_NUMBER, params!["k", "geheim"]);
    let refused = world.db.write(put).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageConstraint);
    let message = refused.envelope().message().to_owned();
    assert!(message.contains("notes") && !message.contains('\n'), "{message}");
    let printed = format!("{message} {refused:?}");
    assert!(!printed.contains("geheim"), "{printed}");
}
