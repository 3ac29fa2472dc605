//! Statements as constants, written once for both engines.

/// One statement, in the spelling of each engine.
///
/// Made by [`sql!`](crate::sql) and the macros beside it, so that it is always a constant of the
/// program: nothing that came from outside can become part of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl Sql {
    /// For the macros only.
    #[doc(hidden)]
    pub const fn from_parts(sqlite: &'static str, postgres: &'static str) -> Self {
        Self { sqlite, postgres }
    }
}

/// Turns `$1` into `?1`: SQLite reads `$1` as the *name* of a parameter and numbers it by first
/// use, which is another number as soon as a statement uses `$2` before `$1`.
///
/// For the macros only. `N` is the length of `text`; statements hold no `$` but placeholders.
#[doc(hidden)]
pub const fn number_placeholders<const N: usize>(text: &str) -> [u8; N] {
    let from = text.as_bytes();
    let mut to = [0u8; N];
    let mut at = 0;
    while at < N {
        to[at] = if from[at] == b'$' { b'?' } else { from[at] };
        at += 1;
    }
    to
}

/// A statement. One text serves both engines; where they must differ (notification, the
/// engines' own catalogues) both spellings are given by name.
#[macro_export]
macro_rules! sql {
    (sqlite: $sqlite:expr, postgres: $postgres:expr $(,)?) => {{
        const TEXT: &str = $sqlite;
        const BYTES: [u8; TEXT.len()] = $crate::number_placeholders::<{ TEXT.len() }>(TEXT);
        const SQLITE: &str = match core::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("replacing one ASCII byte by another keeps UTF-8 valid"),
        };
        $crate::Sql::from_parts(SQLITE, $postgres)
    }};
    ($text:expr) => {
        $crate::sql!(sqlite: $text, postgres: $text)
    };
}

/// A statement that takes rows which other workers may be taking at the same moment.
///
/// The first text ends where the inner `SELECT` that chooses the rows ends, the second is what
/// follows it. On Postgres the chosen rows are locked and rows locked by others are passed
/// over; SQLite has one writer and needs neither. This macro is the one place where claiming
/// differs between the engines.
#[macro_export]
macro_rules! claim_sql {
    ($choose:expr, $rest:expr $(,)?) => {
        $crate::sql!(
            sqlite: concat!($choose, $rest),
            postgres: concat!($choose, " FOR UPDATE SKIP LOCKED", $rest),
        )
    };
}

/// A statement that reads rows which must stay as they are read until the commit.
///
/// On Postgres whoever would change them waits, and whoever has begun to is waited for; SQLite has
/// one writer and needs neither. This macro is the one place where holding differs between the
/// engines.
#[macro_export]
macro_rules! hold_sql {
    ($text:expr) => {
        $crate::sql!(sqlite: $text, postgres: concat!($text, " FOR SHARE"))
    };
}

/// A statement that reads rows which the same transaction is about to change or to remove.
///
/// On Postgres whoever else would do so waits, and whoever has begun to is waited for; SQLite has
/// one writer and needs neither. This macro is the one place where locking differs between the
/// engines.
#[macro_export]
macro_rules! lock_sql {
    ($text:expr) => {
        $crate::sql!(sqlite: $text, postgres: concat!($text, " FOR UPDATE"))
    };
}

#[cfg(test)]
mod tests;
