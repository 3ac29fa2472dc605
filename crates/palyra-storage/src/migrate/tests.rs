use super::*;

const TWO: &[Migration] = &[
    Migration { version: 1, name: "one", oldest_binary: 1, text: "" },
    Migration { version: 2, name: "two", oldest_binary: 1, text: "" },
];

fn check(engine: EngineKind, version: i64, oldest_binary: i64, expected: Option<&[i64]>) {
    let planned = plan(engine, SchemaState { version, oldest_binary }, TWO).ok();
    let versions = planned.map(|steps| steps.iter().map(|step| step.version).collect::<Vec<_>>());
    assert_eq!(versions.as_deref(), expected, "{engine:?} at {version}/{oldest_binary}");
}

#[test]
fn what_is_missing_is_done_and_what_is_newer_is_refused() {
    for engine in [EngineKind::Sqlite, EngineKind::Postgres] {
        check(engine, 0, 0, Some(&[1, 2]));
        check(engine, 1, 1, Some(&[2]));
        check(engine, 2, 1, Some(&[]));
        check(engine, 3, 3, None);
    }
}

#[test]
fn an_older_node_may_return_to_a_shared_database_that_allows_it() {
    check(EngineKind::Postgres, 3, 2, Some(&[]));
    check(EngineKind::Sqlite, 3, 2, None);
}

#[test]
fn versions_count_up_from_one_and_never_ask_for_a_newer_program_than_themselves() {
    for (index, step) in MIGRATIONS.iter().enumerate() {
        assert_eq!(step.version, index as i64 + 1, "{}", step.name);
        assert!(step.oldest_binary <= step.version, "{}", step.name);
    }
}

#[test]
fn each_engine_gets_its_own_words_and_its_own_sections() {
    let text = "CREATE TABLE a (b {text}, c {int}, d {bytes}) {strict};\n--! sqlite\nX;\n--! postgres\nY;\n";
    let step = Migration { version: 1, name: "words", oldest_binary: 1, text };
    assert_eq!(
        render(&step, EngineKind::Sqlite),
        "CREATE TABLE a (b TEXT, c INTEGER, d BLOB) STRICT;\nX;\n"
    );
    assert_eq!(
        render(&step, EngineKind::Postgres),
        "CREATE TABLE a (b TEXT COLLATE \"C\", c BIGINT, d BYTEA) ;\nY;\n"
    );
}

/// A database that was migrated by a step as it was would miss what was changed in it.
#[test]
fn what_was_released_is_never_changed() {
    use sha2::{Digest, Sha256};
    let released = [
        "87e5c0b1f172d673",
        "2f1a758676bbd611",
        "9f16d7e442ee34bc",
        "201dab353a04b67a",
        "e0bc9933c7a5c792",
        "506814865e336450",
        "7c6c518793e70ce3",
        "797b4f681d2025e9",
        "5fbc7272e55a691a",
        "dd36f15b5345388a",
        "b723ebf0c58eccb6",
    ];
    let digest = |step: &Migration| {
        let bytes = Sha256::digest(step.text);
        bytes[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let found: Vec<_> = MIGRATIONS.iter().map(digest).collect();
    assert_eq!(found, released, "a change of the schema is a step of its own, at the end");
}
