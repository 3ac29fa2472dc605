//! A platform that refuses a credential is not asked again with the same one.

use std::sync::Arc;

use palyra_common::ids::ConnectorId;
use palyra_common::runtime_contracts::ConnectorReadiness;
use palyra_common::time::Duration;
use palyra_policy::outbox::Repeat;

use crate::platform::{Fault, Platform};
use crate::supervisor::{Node, fresh, until};
use crate::world::{World, on_every_engine};

on_every_engine!(
    a_restart_does_not_try_a_refused_credential_again,
    another_node_does_not_try_a_refused_credential_again,
);

fn starts(platform: &Platform) -> u64 {
    platform.starts.lock().unwrap().get("memory:a").copied().unwrap_or_default()
}

/// Has one message refused together with the credential.
async fn lock_out(node: &Node, platform: &Platform, id: &ConnectorId) {
    until("it runs", async || starts(platform) == 1).await;
    platform.set("memory:a", Fault::Unauthorized);
    node.send(id, "m0", "c0").await;
    let readiness = async || node.connectors.get(id).await.unwrap().readiness;
    until("it is locked out", async || readiness().await == ConnectorReadiness::AuthFailed).await;
    platform.set("memory:a", Fault::None);
}

/// More than it takes until a lease is asked for again.
const A_WHILE: Duration = Duration::from_secs(3);

async fn a_restart_does_not_try_a_refused_credential_again(mut world: World) {
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let first = Node::start(&world.db, &platform, Repeat::Never);
    let id = first.add("memory:a", "memory").await;
    lock_out(&first, &platform, &id).await;
    first.stop().await;
    world.restart().await;
    let second = Node::start(&world.db, &platform, Repeat::Never);
    second.works_for(A_WHILE).await;
    assert_eq!(starts(&platform), 1, "nobody has given it another credential");
    assert!(second.connectors.set_enabled(&id, true, None).await.unwrap());
    until("the queue goes out", async || platform.count() == 1).await;
    second.stop().await;
}

async fn another_node_does_not_try_a_refused_credential_again(world: World) {
    let Some(other) = world.second_node().await else { return };
    fresh(&world).await;
    let platform = Arc::new(Platform::default());
    let first = Node::start(&world.db, &platform, Repeat::Never);
    let id = first.add("memory:a", "memory").await;
    until("the first has it", async || starts(&platform) == 1).await;
    let second = Node::start(&other, &platform, Repeat::Never);
    second.works_for(Duration::from_secs(1)).await;
    lock_out(&first, &platform, &id).await;
    second.works_for(A_WHILE).await;
    assert_eq!(starts(&platform), 1, "nobody has given it another credential");
    let (queue, another) = (crate::supervisor::quick(), serde_json::json!({ "token": "another" }));
    assert!(first.connectors.configure(&id, Some(another), Some(queue), None).await.unwrap());
    until("the queue goes out", async || platform.count() == 1).await;
    assert_eq!(starts(&platform), 2);
    second.stop().await;
    first.stop().await;
}
