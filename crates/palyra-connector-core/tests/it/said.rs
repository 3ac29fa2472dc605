//! The order of what was said: that of the lane, or of time where that is another.

use palyra_common::time::{Duration, Timestamp};
use palyra_connector_core::{Wanted, What, history, remember};
use palyra_policy::outbox::{Reconciled, Repeat, Resolution};

use crate::inbound::{Answer, inbound, message};
use crate::retention::sweep_at;
use crate::world::{World, connector, delivered, key, on_every_engine, unclear};

on_every_engine!(
    what_ended_late_is_remembered_as_said_then,
    a_lane_that_begins_anew_goes_on_behind_what_was_said,
    what_is_looked_for_is_found_page_by_page_and_once,
);

async fn said(world: &World, until: Timestamp, limit: u32) -> Vec<(Timestamp, String)> {
    let conversation = "a".parse().unwrap();
    let said = history(&world.db, &connector(), &conversation, until, limit).await.unwrap();
    let ours = said.into_iter().map(|said| match said.what {
        What::Out { envelope: (name, part), .. } => (said.at, format!("{name}/{part}")),
        What::In { .. } => panic!("nobody said anything"),
    });
    ours.collect()
}

async fn names(world: &World, limit: u32) -> Vec<String> {
    let said = said(world, Timestamp::MAX, limit).await;
    said.into_iter().map(|(_, name)| name).collect()
}

async fn deliver(world: &World, name: &str) {
    world.pass(Duration::from_secs(1));
    assert_eq!(world.round(&delivered()).await, [name]);
}

async fn what_ended_late_is_remembered_as_said_then(world: World) {
    world.outbox.enqueue(World::envelope("long", "a", &["1", "2", "3"])).await.unwrap();
    deliver(&world, "long").await;
    assert_eq!(world.round(&unclear()).await, ["long/1"]);
    world.pass(Duration::from_secs(5));
    let (lease, part, found) = (&world.lease, key("long", 1), Reconciled::StillUnknown);
    let looked = world.outbox.entry(&part).await.unwrap().unwrap();
    world.outbox.reconciled(lease, Repeat::Never, &looked, found, None).await.unwrap();
    for name in ["m1", "m2", "m3"] {
        world.enqueue(name, "a").await;
        deliver(&world, name).await;
    }
    world.pass(Duration::from_secs(1));
    world.outbox.resolve(&part, Resolution::MarkDelivered, None).await.unwrap();
    deliver(&world, "long/2").await;
    world.enqueue("m4", "a").await;
    deliver(&world, "m4").await;

    let all = ["m4/0", "long/2", "long/1", "m3/0", "m2/0", "m1/0", "long/0"];
    assert_eq!(names(&world, 10).await, all);
    assert_eq!(names(&world, 2).await, all[..2]);
    // One by one, as whoever reads back does it.
    let mut until = Timestamp::MAX;
    for name in all {
        let found = said(&world, until, 1).await;
        assert_eq!(found[0].1, name);
        until = Timestamp::from_unix_millis(found[0].0.as_unix_millis() - 1);
    }
    assert_eq!(said(&world, until, 1).await, []);
}

async fn a_lane_that_begins_anew_goes_on_behind_what_was_said(world: World) {
    for name in ["m1", "m2", "m3"] {
        world.enqueue(name, "a").await;
        deliver(&world, name).await;
        assert_eq!(sweep_at(&world, 0).await, [("outbox_lanes", 1)]);
    }
    assert_eq!(names(&world, 10).await, ["m3/0", "m2/0", "m1/0"]);
    // Without content there is nothing to go on behind, and a new beginning is one.
    assert_eq!(sweep_at(&world, 31).await, [("outbox", 3)]);
    world.enqueue("m4", "a").await;
    assert_eq!(world.stored("m4").await.lane_seq, Some(0));
    deliver(&world, "m4").await;
    assert_eq!(names(&world, 10).await, ["m4/0"]);
}

/// Also where many were said in one moment, and where what is looked for is beyond one look.
async fn what_is_looked_for_is_found_page_by_page_and_once(world: World) {
    let sink = std::sync::Arc::new(Answer::default());
    let inbound = inbound(&world, &sink);
    for n in 0..2_300 {
        let text = if n % 1_000 == 7 { format!("Needle {n}") } else { format!("straw {n}") };
        inbound.accept(message(&format!("n{n:04}"), &text)).await.unwrap();
        // From one to five of a moment.
        if n % 15 < 5 {
            world.pass(Duration::from_millis(1));
        }
    }
    let found = |containing: Option<&'static str>, limit| {
        let (db, conversation) = (&world.db, "a".parse().unwrap());
        async move {
            let (mut until, mut told, mut asked) = (Timestamp::MAX, Vec::new(), 0);
            loop {
                let containing = containing.map(str::to_owned);
                let wanted = Wanted { until, containing, limit };
                let page = remember(db, &connector(), &conversation, wanted).await.unwrap();
                asked += 1;
                told.extend(page.said.into_iter().map(|said| said.native.unwrap()));
                let Some(more) = page.more else { break (told, asked) };
                assert!(more < until, "{more} is not before {until}");
                until = more;
            }
        }
    };
    assert_eq!(
        found(Some("nEEDLE"), 10).await,
        (vec!["n2007".to_owned(), "n1007".into(), "n0007".into()], 2)
    );
    assert_eq!(found(Some("needle"), 1).await.0.len(), 3);
    assert_eq!(found(Some("nobody said this"), 10).await.0, [""; 0]);
    let (mut all, _) = found(None, 1).await;
    assert!(all.is_sorted_by(|one, next| one > next), "each once, and in order");
    all.reverse();
    assert_eq!(all, (0..2_300).map(|n| format!("n{n:04}")).collect::<Vec<_>>());
}
