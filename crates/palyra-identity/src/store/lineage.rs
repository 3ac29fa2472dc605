//! Who comes from whom, over `api_tokens` and `console_logins`.

use palyra_common::ids::Principal;
use palyra_storage::{Sql, StorageError, Tx, params, sql, text};

use crate::Credential;

/// `UNION` takes each once, so that it ends whatever stands in the rows.
macro_rules! line_sql {
    ($seed:literal) => {
        sql!(concat!(
            "WITH RECURSIVE line (credential) AS (",
            $seed,
            " UNION
             SELECT made.credential FROM line JOIN (
                 SELECT 'token:' || id AS credential, made_by FROM api_tokens
                 UNION ALL
                 SELECT 'login:' || id AS credential, made_by FROM console_logins
             ) AS made ON made.made_by = line.credential)
             SELECT credential FROM line"
        ))
    };
}

const MADE_WITH: Sql = line_sql!(
    "SELECT 'token:' || id FROM api_tokens WHERE made_by = $1
     UNION ALL SELECT 'login:' || id FROM console_logins WHERE made_by = $1"
);

const OF_PRINCIPAL: Sql = line_sql!(
    "SELECT 'token:' || id FROM api_tokens WHERE principal = $1
     UNION ALL SELECT 'login:' || id FROM console_logins WHERE principal = $1"
);

/// All that came from `maker`, over however many steps, ended or not.
pub(crate) fn made_with(
    tx: &mut Tx<'_>,
    maker: Credential,
) -> Result<Vec<Credential>, StorageError> {
    tx.query(&MADE_WITH, params![text(maker)], |row| row.parse(0))
}

/// All credentials of `principal`, and all that came from them, ended or not.
pub(crate) fn of_principal(
    tx: &mut Tx<'_>,
    principal: &Principal,
) -> Result<Vec<Credential>, StorageError> {
    tx.query(&OF_PRINCIPAL, params![principal.as_str()], |row| row.parse(0))
}
