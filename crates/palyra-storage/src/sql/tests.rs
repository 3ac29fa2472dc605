use crate::Sql;

const SWAPPED: Sql = sql!("UPDATE t SET a = $2 WHERE id = $1");
const CLAIM: Sql = claim_sql!("UPDATE t SET a = $1 WHERE id IN (SELECT id FROM t", ")");
const LOCK: Sql = lock_sql!("INSERT INTO t (a) SELECT a FROM u WHERE id = $1");

#[test]
fn placeholders_keep_their_numbers_on_sqlite() {
    assert_eq!(SWAPPED.sqlite, "UPDATE t SET a = ?2 WHERE id = ?1");
    assert_eq!(SWAPPED.postgres, "UPDATE t SET a = $2 WHERE id = $1");
}

#[test]
fn only_postgres_locks_what_it_claims() {
    assert_eq!(CLAIM.sqlite, "UPDATE t SET a = ?1 WHERE id IN (SELECT id FROM t)");
    assert_eq!(
        CLAIM.postgres,
        "UPDATE t SET a = $1 WHERE id IN (SELECT id FROM t FOR UPDATE SKIP LOCKED)"
    );
    assert_eq!(LOCK.sqlite, "INSERT INTO t (a) SELECT a FROM u WHERE id = ?1");
    assert_eq!(LOCK.postgres, "INSERT INTO t (a) SELECT a FROM u WHERE id = $1 FOR UPDATE");
}
