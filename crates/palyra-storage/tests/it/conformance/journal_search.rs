//! Entries are found by who, what, to what and when, page by page in either order.

use palyra_common::time::{Duration, Timestamp};
use palyra_storage::journal::{Filter, JournalEvent, Order};
use palyra_storage::{JournalStore, new_id};

use crate::world::{START, World, on_every_engine};

on_every_engine!(
    every_filter_narrows_the_search,
    pages_join_without_gap_or_repeat_in_either_order,
    a_search_that_fits_nothing_ends,
);

/// Entry number `n`: actors, actions and subjects in turn, one second apart.
fn entry(n: i64) -> JournalEvent {
    JournalEvent {
        id: new_id(),
        at: at(n),
        actor: ["operator:anna", "operator:bert"][n as usize % 2].into(),
        action: ["token.created", "token.revoked", "tokens"][n as usize % 3].into(),
        subject: format!("token:{}", n % 5),
        origin: "cli".into(),
        outcome: "ok".into(),
        detail: "{}".into(),
        content: None,
    }
}

fn at(n: i64) -> Timestamp {
    START + Duration::from_secs(n as u64)
}

async fn filled(world: &World, count: i64) -> JournalStore {
    let record = move |tx: &mut palyra_storage::Tx<'_>| {
        (1..=count).for_each(|n| tx.record(entry(n)));
        Ok(())
    };
    world.db.write(record).await.unwrap();
    JournalStore::new(world.db.clone())
}

async fn found(journal: &JournalStore, filter: Filter) -> Vec<i64> {
    let found = journal.search(filter, Order::OldestFirst, None, 1_000).await.unwrap();
    assert_eq!(found.next, None);
    found.entries.iter().map(|entry| entry.seq).collect()
}

async fn every_filter_narrows_the_search(world: World) {
    let journal = filled(&world, 30).await;
    let all = || Filter::default();
    let expect = |fits: fn(i64) -> bool| (1..=30).filter(|n| fits(*n)).collect::<Vec<_>>();
    assert_eq!(found(&journal, all()).await, expect(|_| true));
    let actor = Filter { actor: "operator:bert".into(), ..all() };
    assert_eq!(found(&journal, actor).await, expect(|n| n % 2 == 1));
    let action = Filter { action: "token.created".into(), ..all() };
    assert_eq!(found(&journal, action).await, expect(|n| n % 3 == 0));
    let prefix = Filter { action: "token.".into(), ..all() };
    assert_eq!(found(&journal, prefix).await, expect(|n| n % 3 != 2));
    // Without the dot it is a whole word, and what searches make of signs has no meaning here.
    assert!(found(&journal, Filter { action: "token".into(), ..all() }).await.is_empty());
    assert!(found(&journal, Filter { action: "token%".into(), ..all() }).await.is_empty());
    let subject = Filter { subject: "token:4".into(), ..all() };
    assert_eq!(found(&journal, subject).await, expect(|n| n % 5 == 4));
    let time = Filter { since: Some(at(5)), until: Some(at(9)), ..all() };
    assert_eq!(found(&journal, time).await, [5, 6, 7, 8]);
}

async fn pages_join_without_gap_or_repeat_in_either_order(world: World) {
    let journal = filled(&world, 30).await;
    let filter = || Filter { actor: "operator:anna".into(), ..Filter::default() };
    let even: Vec<i64> = (1..=30).filter(|n| n % 2 == 0).collect();
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let (mut seen, mut from) = (Vec::new(), None);
        for _ in 0..40 {
            let page = journal.search(filter(), order, from, 4).await.unwrap();
            seen.extend(page.entries.iter().map(|entry| entry.seq));
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        if order == Order::NewestFirst {
            seen.reverse();
        }
        assert_eq!((seen, from), (even.clone(), None), "{order:?}");
    }
}

async fn a_search_that_fits_nothing_ends(world: World) {
    let journal = JournalStore::new(world.db.clone());
    for order in [Order::OldestFirst, Order::NewestFirst] {
        for from in [None, Some(i64::MIN), Some(0), Some(7), Some(i64::MAX)] {
            let none = journal.search(Filter::default(), order, from, 10).await.unwrap();
            assert_eq!((none.entries.len(), none.next), (0, None), "{order:?} {from:?}");
        }
    }
    let journal = filled(&world, 3).await;
    for (order, from) in [(Order::OldestFirst, i64::MAX), (Order::NewestFirst, i64::MIN)] {
        let none = journal.search(Filter::default(), order, Some(from), 10).await.unwrap();
        assert_eq!((none.entries.len(), none.next), (0, None), "{order:?}");
    }
}
