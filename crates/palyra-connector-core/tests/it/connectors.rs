//! Connectors as rows.

use palyra_common::error::ErrorCode;
use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::ConnectorReadiness;
use palyra_common::time::Duration;
use serde_json::json;

use crate::world::{World, connector, on_every_engine};

on_every_engine!(
    one_is_set_up_once_and_listed,
    changes_are_told_and_counted,
    what_is_not_given_stays_what_somebody_else_has_made_it,
    other_settings_are_not_blamed_for_what_went_wrong,
    the_clock_stands_still_while_anything_keeps_it_from_sending,
);

async fn one_is_set_up_once_and_listed(world: World) {
    let queue = QueueSettings::default();
    let add =
        |id: &str| world.connectors.add(id.parse().unwrap(), "echo", json!({"a": 1}), queue, None);
    assert!(add("echo:other").await.unwrap());
    assert!(!add("echo:other").await.unwrap());
    let all = world.connectors.list().await.unwrap();
    let names: Vec<_> = all.iter().map(|connector| connector.id.as_str()).collect();
    assert_eq!(names, ["echo:default", "echo:other"]);
    assert_eq!((&all[1].settings, all[1].queue), (&json!({"a": 1}), queue));
    let missing = world.connectors.get(&"nobody".parse().unwrap()).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::CommonNotFound);
    let missing = world.connectors.resume(&"nobody".parse().unwrap(), None).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::CommonNotFound);
}

async fn changes_are_told_and_counted(world: World) {
    let mut changes = world.connectors.subscribe();
    assert!(!changes.take_change());
    assert!(world.connectors.set_enabled(&connector(), false, None).await.unwrap());
    tokio::time::timeout(std::time::Duration::from_secs(60), changes.changed()).await.unwrap();
    assert!(!world.connectors.set_enabled(&connector(), false, None).await.unwrap());
    let is = world.connectors.get(&connector()).await.unwrap();
    assert_eq!((is.enabled, is.version), (false, 2));
}

/// Two of them, one half each: neither takes back what the other has set.
async fn what_is_not_given_stays_what_somebody_else_has_made_it(world: World) {
    let (connectors, id) = (&world.connectors, connector());
    let other = QueueSettings { lanes: 7, ..world.started_with.queue };
    let settings = || Some(json!({ "colour": "red" }));
    let (queue, settings) = tokio::join!(
        connectors.configure(&id, None, Some(other), None),
        connectors.configure(&id, settings(), None, None)
    );
    assert!(queue.unwrap() && settings.unwrap());
    let is = connectors.get(&id).await.unwrap();
    assert_eq!((is.settings, is.queue), (json!({ "colour": "red" }), other));
    assert!(!connectors.configure(&id, None, None, None).await.unwrap());
}

async fn other_settings_are_not_blamed_for_what_went_wrong(world: World) {
    let (connectors, id, row) = (&world.connectors, connector(), &world.started_with);
    let failed = ConnectorReadiness::AuthFailed;
    let other = serde_json::json!({ "token": "another" });
    connectors.configure(&id, Some(other), Some(row.queue), None).await.unwrap();
    assert!(!connectors.set_unready(row, failed, Some("401".into())).await.unwrap());
    let is = connectors.get(&id).await.unwrap();
    assert_eq!((is.readiness, is.readiness_reason), (ConnectorReadiness::Ready, None));
}

async fn the_clock_stands_still_while_anything_keeps_it_from_sending(world: World) {
    let hour = Duration::from_hours(1);
    let failed = ConnectorReadiness::AuthFailed;
    let (connectors, id) = (&world.connectors, connector());
    connectors.pause(&id, "maintenance", None).await.unwrap();
    world.pass(hour);
    let row = &world.started_with;
    assert!(connectors.set_unready(row, failed, Some("401".into())).await.unwrap());
    world.pass(hour);
    connectors.resume(&id, None).await.unwrap();
    world.pass(hour);
    let still = connectors.get(&id).await.unwrap();
    assert_eq!(
        (still.stopped_since, still.stopped_before),
        (Some(crate::world::START), Duration::ZERO)
    );
    connectors.set_enabled(&id, true, None).await.unwrap();
    let moves = connectors.get(&id).await.unwrap();
    assert_eq!((moves.stopped_since, moves.stopped_before), (None, Duration::from_hours(3)));
    assert_eq!((moves.readiness_reason, moves.pause_reason), (None, None));
}
