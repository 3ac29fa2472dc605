//! `budgets`, `budget_reservations`: what may be used, what was, and what is set aside.

use palyra_common::ids::RunId;
use palyra_common::time::Timestamp;
use palyra_policy::budget::{Account, Amount};
use palyra_storage::{Sql, StorageError, Tx, claim_sql, lock_sql, params, sql, text};

use super::{from_text, to_json};

const LOCK: Sql = lock_sql!(
    "SELECT spent_tokens, spent_micros, reserved_tokens, reserved_micros FROM budgets
     WHERE scope = $1"
);

/// Makes the row, which somebody else may just have made, and locks it.
const BEGIN: Sql = sql!(
    "INSERT INTO budgets (scope, spent_tokens, spent_micros, reserved_tokens, reserved_micros,
         changed_at)
     VALUES ($1, 0, 0, 0, 0, $2)
     ON CONFLICT (scope) DO UPDATE SET changed_at = EXCLUDED.changed_at
     RETURNING spent_tokens, spent_micros, reserved_tokens, reserved_micros"
);

const SAVE: Sql = sql!(
    "UPDATE budgets SET spent_tokens = $2, spent_micros = $3, reserved_tokens = $4,
         reserved_micros = $5, changed_at = $6
     WHERE scope = $1"
);

const RESERVE: Sql = sql!(
    "INSERT INTO budget_reservations (run_id, turn, attempt, tokens, micros, scopes)
     VALUES ($1, $2, $3, $4, $5, $6)"
);

const OF_RUN: Sql =
    sql!("DELETE FROM budget_reservations WHERE run_id = $1 RETURNING tokens, micros, scopes");

const SWEEP: Sql = claim_sql!(
    "DELETE FROM budgets WHERE scope IN (
         SELECT scope FROM budgets WHERE changed_at < $1 AND reserved_tokens = 0
         ORDER BY scope LIMIT $2",
    ")"
);

const SET_ASIDE: Sql =
    sql!("SELECT tokens, micros FROM budget_reservations WHERE run_id = $1 ORDER BY turn, attempt");

/// What is set aside for a run.
pub(crate) struct Reservation {
    pub(crate) amount: Amount,
    pub(crate) scopes: Vec<String>,
}

pub(crate) fn lock(tx: &mut Tx<'_>, scope: &str, now: Timestamp) -> Result<Account, StorageError> {
    match tx.query_opt(&LOCK, params![scope], read)? {
        Some(account) => Ok(account),
        None => tx.query_one(&BEGIN, params![scope, now], read),
    }
}

pub(crate) fn save(
    tx: &mut Tx<'_>,
    scope: &str,
    account: &Account,
    now: Timestamp,
) -> Result<(), StorageError> {
    let Account { spent, reserved } = account;
    let params = params![
        scope,
        int(spent.tokens),
        int(spent.micros),
        int(reserved.tokens),
        int(reserved.micros),
        now,
    ];
    tx.execute_later(&SAVE, params)
}

pub(crate) fn reserve(
    tx: &mut Tx<'_>,
    run: RunId,
    (turn, attempt): (u32, u32),
    reservation: &Reservation,
) -> Result<(), StorageError> {
    let Reservation { amount, scopes } = reservation;
    let scopes = to_json(scopes)?;
    let params = params![text(run), turn, attempt, int(amount.tokens), int(amount.micros), &scopes];
    tx.execute_later(&RESERVE, params)
}

/// Takes what is set aside for a run, which has at most one question open.
pub(crate) fn take(tx: &mut Tx<'_>, run: RunId) -> Result<Vec<Reservation>, StorageError> {
    tx.query(&OF_RUN, params![text(run)], |row| {
        let amount = Amount { tokens: row.get(0)?, micros: row.get(1)? };
        Ok(Reservation { amount, scopes: from_text(&row.get::<String>(2)?)? })
    })
}

/// Budgets that nobody has used since `before`.
pub(crate) fn sweep(tx: &mut Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StorageError> {
    tx.execute(&SWEEP, params![before, limit])
}

/// What is set aside for a run in all.
pub(crate) fn of_run(tx: &mut Tx<'_>, run: RunId) -> Result<Amount, StorageError> {
    let rows = tx.query(&SET_ASIDE, params![text(run)], |row| {
        Ok(Amount { tokens: row.get(0)?, micros: row.get(1)? })
    })?;
    Ok(rows.into_iter().fold(Amount::default(), Amount::plus))
}

fn read(row: &palyra_storage::Row<'_>) -> Result<Account, StorageError> {
    Ok(Account {
        spent: Amount { tokens: row.get(0)?, micros: row.get(1)? },
        reserved: Amount { tokens: row.get(2)?, micros: row.get(3)? },
    })
}

fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
