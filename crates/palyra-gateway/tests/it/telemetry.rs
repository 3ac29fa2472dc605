//! What people did on surfaces, as rows.

use std::sync::Arc;

use palyra_common::ids::EventId;
use palyra_common::runtime_contracts::{HandoffSection, TelemetrySurface};
use palyra_common::telemetry::{ConsoleEvent, UxEvent, UxEventKind, UxOutcome};
use palyra_common::time::{Duration, Timestamp};
use palyra_gateway::{Recorded, Telemetry, retention_rules};
use palyra_storage::lease::Leases;
use palyra_storage::retention::{Keep, Rule, Sweeper};
use palyra_testkit::clock::FakeClock;

use crate::world::{START, World, on_every_engine};

on_every_engine!(
    an_event_is_kept_once_and_as_it_was,
    of_many_at_once_with_one_id_one_is_kept,
    the_next_process_sees_what_was_kept,
    the_median_is_in_the_middle,
    retention_takes_what_is_old_and_what_is_too_many,
);

const RULE: &str = "system_events";

fn opened() -> ConsoleEvent {
    ConsoleEvent {
        what: UxEvent::SurfaceOpened,
        surface: TelemetrySurface::Web,
        section: HandoffSection::Overview,
        outcome: UxOutcome::Ok,
        latency_ms: 0,
        session_id: None,
        run_id: None,
    }
}

fn resolved(waited_seconds: u32) -> ConsoleEvent {
    let verdict = palyra_common::api::ApprovalVerdict::Deny;
    ConsoleEvent {
        what: UxEvent::ApprovalResolved { verdict, waited_seconds },
        latency_ms: u64::from(waited_seconds) * 1_000,
        ..opened()
    }
}

fn id(n: u128) -> EventId {
    EventId::from_parts(START, n)
}

fn telemetry(world: &World) -> (Telemetry, FakeClock) {
    let clock = FakeClock::new(START);
    (Telemetry::new(world.db.clone(), Arc::new(clock.clone())), clock)
}

async fn an_event_is_kept_once_and_as_it_was(world: World) {
    let (telemetry, clock) = telemetry(&world);
    let first = telemetry.record_console_event(Some(id(1)), &opened()).await.unwrap();
    assert_eq!(first, Recorded::Now(id(1)));
    clock.advance(Duration::from_hours(1));
    let other = resolved(5);
    let again = telemetry.record_console_event(Some(id(1)), &other).await.unwrap();
    assert_eq!(again, Recorded::Before(id(1)));
    let kept = telemetry.list(None, 9).await.unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].kind, kept[0].at), (UxEventKind::SurfaceOpened, START));
    for _ in 0..2 {
        telemetry.record_console_event(None, &opened()).await.unwrap();
    }
    assert_eq!(telemetry.list(None, 9).await.unwrap().len(), 3, "each has an id of its own");
}

async fn of_many_at_once_with_one_id_one_is_kept(world: World) {
    let (telemetry, _) = telemetry(&world);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let telemetry = telemetry.clone();
        tasks.spawn(async move {
            telemetry.record_console_event(Some(id(1)), &opened()).await.unwrap()
        });
    }
    let all = tasks.join_all().await;
    assert_eq!(all.iter().filter(|one| **one == Recorded::Now(id(1))).count(), 1);
    assert_eq!(telemetry.list(None, 9).await.unwrap().len(), 1);
}

async fn the_next_process_sees_what_was_kept(world: World) {
    let (telemetry, _) = telemetry(&world);
    let run_id = Some("01HQS9V9ER3KWZ4J7N2B6T8Y0E".parse().unwrap());
    let session_id = Some("01HQS9V9ER3KWZ4J7N2B6T8Y0D".parse().unwrap());
    let event = ConsoleEvent { run_id, session_id, latency_ms: 7, ..opened() };
    telemetry.record_console_event(Some(id(1)), &event).await.unwrap();
    let before = telemetry.list(None, 9).await.unwrap();
    assert_eq!((before[0].run_id, before[0].session_id), (run_id, session_id));
    let db = world.next_process().await;
    let telemetry = Telemetry::new(db, Arc::new(FakeClock::new(START)));
    assert_eq!(telemetry.list(None, 9).await.unwrap(), before);
    let again = telemetry.record_console_event(Some(id(1)), &opened()).await.unwrap();
    assert_eq!(again, Recorded::Before(id(1)));
}

async fn the_median_is_in_the_middle(world: World) {
    let (telemetry, clock) = telemetry(&world);
    let count = async || {
        let counted = telemetry.count(START).await.unwrap();
        (counted.decided, counted.median_waited_ms)
    };
    telemetry.record_console_event(None, &opened()).await.unwrap();
    assert_eq!(count().await, (0, None));
    for (waited, expected) in [(9, 9_000), (1, 5_000), (100, 9_000), (11, 10_000)] {
        telemetry.record_console_event(None, &resolved(waited)).await.unwrap();
        assert_eq!(count().await.1, Some(expected));
    }
    clock.advance(Duration::from_secs(1));
    let later = telemetry.count(START + Duration::from_secs(1)).await.unwrap();
    assert_eq!((later.decided, later.counts.len()), (0, 0));
}

/// The rule of the table, with another bound for how many there are.
fn rule(count: Option<i64>) -> Rule {
    let rule = retention_rules().into_iter().find(|rule| rule.table == RULE).unwrap();
    let count = count.unwrap_or(rule.keep.count);
    Rule { keep: Keep { count, ..rule.keep }, ..rule }
}

async fn left(world: &World, now: Timestamp, rule: Rule) -> Vec<u128> {
    let clock = Arc::new(FakeClock::new(now));
    let leases = Leases::new(world.db.clone(), clock.clone(), Duration::from_secs(30));
    let every = Duration::from_hours(1);
    let sweeper = Sweeper::new(world.db.clone(), leases, clock, vec![rule], every);
    sweeper.round().await.unwrap();
    let (telemetry, _) = telemetry(world);
    let kept = telemetry.list(None, 100).await.unwrap();
    let ids = (0..20).map(|n| (n, id(n)));
    let ids: Vec<_> = ids.collect();
    let number = |kept: EventId| ids.iter().find(|(_, id)| *id == kept).unwrap().0;
    kept.into_iter().map(|event| number(event.event_id)).collect()
}

async fn retention_takes_what_is_old_and_what_is_too_many(world: World) {
    let (telemetry, clock) = telemetry(&world);
    // Ids in another order than the times, two of which are the same.
    for n in [7, 3, 9, 1, 5] {
        telemetry.record_console_event(Some(id(n)), &opened()).await.unwrap();
        if n != 9 {
            clock.advance(Duration::from_days(1));
        }
    }
    let last = START + Duration::from_days(3);
    let kept = rule(None).keep;
    assert_eq!((kept.age, kept.count), (Duration::from_days(180), 100_000));
    assert_eq!(left(&world, last, rule(None)).await, [5, 9, 1, 3, 7]);
    assert_eq!(left(&world, last, rule(Some(5))).await, [5, 9, 1, 3, 7]);
    assert_eq!(left(&world, last, rule(Some(4))).await, [5, 9, 1, 3]);
    // Of the two of one moment only one is too many.
    assert_eq!(left(&world, last, rule(Some(2))).await, [5, 9]);
    let age = Duration::from_days(180);
    assert_eq!(left(&world, START + Duration::from_days(2) + age, rule(None)).await, [5, 9]);
    let later = START + Duration::from_days(2) + age + Duration::from_millis(1);
    assert_eq!(left(&world, later, rule(None)).await, [5]);
}
