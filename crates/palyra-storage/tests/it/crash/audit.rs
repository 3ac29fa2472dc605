//! What must hold after every kill.

use std::collections::{BTreeMap, BTreeSet};

use palyra_storage::{Database, JournalStore, Sql, events, params, sql};

const COMMITS: Sql = sql!("SELECT id, owner, token FROM commits");
const SUM: Sql = sql!("SELECT n FROM notes WHERE id = 'sum'");

/// What writers were told, over all rounds.
#[derive(Default)]
pub(super) struct Audit {
    acknowledged: BTreeSet<String>,
    /// How far the feed has been followed, and the last token seen in it.
    cursor: i64,
    token: i64,
    kept: usize,
}

impl Audit {
    pub(super) fn acknowledged(&mut self, ids: Vec<String>) {
        self.acknowledged.extend(ids);
    }

    pub(super) async fn check(&mut self, db: &Database, when: &str) {
        type Commits = (Vec<(String, String, i64)>, i64);
        let (commits, sum): Commits = db
            .read(|tx| {
                let commits = tx.query(&COMMITS, params![], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?;
                Ok((commits, tx.query_one(&SUM, params![], |row| row.get(0))?))
            })
            .await
            .unwrap();
        let ids: BTreeSet<&String> = commits.iter().map(|(id, _, _)| id).collect();
        let lost: Vec<_> = self.acknowledged.iter().filter(|id| !ids.contains(id)).collect();
        assert!(lost.is_empty(), "{when}: acknowledged and lost: {lost:?}");
        assert_eq!(sum, commits.len() as i64, "{when}: a unit was kept in part, or twice");

        let mut owners = BTreeMap::new();
        for (_, owner, token) in &commits {
            let first = owners.entry(token).or_insert(owner);
            assert_eq!(*first, owner, "{when}: two owners committed under token {token}");
        }
        self.follow(db, when).await;
        let verified = JournalStore::new(db.clone()).verify().await.unwrap();
        assert_eq!(verified.fault, None, "{when}");
        self.kept = commits.len();
    }

    /// In the order of commits tokens never fall: nobody committed under a lease after it was
    /// taken by somebody else. And no number is missing.
    async fn follow(&mut self, db: &Database, when: &str) {
        loop {
            let page = events::page_after(db, self.cursor, events::PAGE_LIMIT).await.unwrap();
            if page.events.is_empty() {
                return;
            }
            for event in page.events {
                assert_eq!(event.seq, self.cursor + 1, "{when}: a number is missing");
                self.cursor = event.seq;
                let token = event.body.as_i64().unwrap();
                assert!(token >= self.token, "{when}: token {token} after {}", self.token);
                self.token = token;
            }
        }
    }
}

impl std::fmt::Display for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (acknowledged, kept) = (self.acknowledged.len(), self.kept);
        write!(f, "{acknowledged} writes acknowledged, {kept} kept, 0 lost, 0 doubled")
    }
}
