//! Looking for entries.

use palyra_common::time::Timestamp;

use super::{PAGE_LIMIT, Recorded};
use crate::store::journal as rows;
use crate::store::journal_head as head_row;
use crate::{Database, StorageError};

/// How many entries one search looks at. A page may so be short, or empty, and not the last.
const WINDOW: i64 = 50_000;

/// Which entries are looked for. What is empty fits everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The principal.
    pub actor: String,
    /// The action; one that ends in a dot, as `token.`, fits all that begin with it.
    pub action: String,
    /// What was acted upon.
    pub subject: String,
    /// Not before this.
    pub since: Option<Timestamp>,
    /// Before this.
    pub until: Option<Timestamp>,
}

/// In which order entries are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By growing number.
    OldestFirst,
    /// By falling number.
    NewestFirst,
}

/// Some entries of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// They, in the order that was asked for.
    pub entries: Vec<Recorded>,
    /// The number to go on from; none at the end.
    pub next: Option<i64>,
}

/// Looks for up to `limit` entries, from number `from` on (included) or from the beginning.
pub(super) async fn search(
    db: &Database,
    filter: Filter,
    order: Order,
    from: Option<i64>,
    limit: u32,
) -> Result<Found, StorageError> {
    let limit = limit.clamp(1, PAGE_LIMIT);
    db.read(move |tx| {
        let head = head_row::read(tx)?.seq;
        let window = match order {
            Order::OldestFirst => {
                let from = from.unwrap_or(1).max(1);
                (from, from.saturating_add(WINDOW - 1).min(head))
            }
            Order::NewestFirst => {
                let from = from.unwrap_or(head).min(head);
                (from.saturating_sub(WINDOW - 1).max(1), from)
            }
        };
        let entries = rows::matching(tx, window, &filter, order, limit)?;
        let full = entries.len() == limit as usize;
        let last = entries.last().map(|entry| entry.seq).filter(|_| full);
        let next = match order {
            Order::OldestFirst => last.unwrap_or(window.1) + 1,
            Order::NewestFirst => last.unwrap_or(window.0) - 1,
        };
        let more = window.0 <= window.1 && (1..=head).contains(&next);
        Ok(Found { entries, next: more.then_some(next) })
    })
    .await
}
