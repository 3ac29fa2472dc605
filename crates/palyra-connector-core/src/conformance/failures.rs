//! A platform that fails, and says so.

use std::sync::Arc;

use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::{ConnectorReadiness, OutboxState};
use palyra_storage::OpenOptions;

use super::node::{Node, queue, until};
use super::{Broken, Platform, Weather, ensure};

/// More often than there are attempts.
const REFUSALS: i64 = 6;

pub(super) async fn rate_limited(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    let node = Node::start(options, &platform).await?;
    let few = QueueSettings { max_attempts: 2, ..queue() };
    let id = node.add("limited", Weather::RateLimited, few).await?;
    let key = node.send(&id, "m0", "c0").await?;
    // An entry changes at least once each time that it has to wait.
    let waited = async || Ok(node.entry(&key).await?.is_some_and(|it| it.version > 2 * REFUSALS));
    until("it had to wait more often than it may be tried", waited).await?;
    let stored = node.entry(&key).await?;
    let attempts = stored.map(|stored| stored.entry.attempts);
    ensure(attempts == Some(0), || format!("waiting cost attempts: {attempts:?}"))?;
    node.turn(&id, Weather::Fine).await?;
    node.wait_for(&key, OutboxState::Delivered).await?;
    let said = node.said(&id, "c0");
    ensure(said == ["m0"], || format!("this arrived: {said:?}"))?;
    node.stop().await
}

pub(super) async fn refused(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    let node = Node::start(options, &platform).await?;
    let id = node.add("refused", Weather::Refuses, queue()).await?;
    let key = node.send(&id, "m0", "c0").await?;
    node.wait_for(&key, OutboxState::Dead).await?;
    let dead = node.outbox.dead_letters(&id, None, 10).await?;
    let told = dead.first().is_some_and(|dead| dead.last_error.is_some());
    ensure(told && dead.len() == 1, || format!("the dead letters are {dead:?}"))?;
    let said = node.said(&id, "c0");
    ensure(said.is_empty(), || format!("it was refused and arrived: {said:?}"))?;
    node.turn(&id, Weather::Fine).await?;
    // A dead letter does not stop what comes after it.
    let later = node.send(&id, "m1", "c0").await?;
    node.wait_for(&later, OutboxState::Delivered).await?;
    node.outbox.replay(&key, None).await?;
    node.wait_for(&key, OutboxState::Delivered).await?;
    let said = node.said(&id, "c0");
    ensure(said == ["m1", "m0"], || format!("this arrived: {said:?}"))?;
    node.stop().await
}

pub(super) async fn credential_refused(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    let node = Node::start(options, &platform).await?;
    let id = node.add("locked", Weather::RefusesCredential, queue()).await?;
    let mut keys = Vec::new();
    for n in 0..6 {
        keys.push(node.send(&id, &format!("m{n}"), &format!("c{}", n % 2)).await?);
    }
    let locked =
        async || Ok(node.connectors.get(&id).await?.readiness == ConnectorReadiness::AuthFailed);
    until("the connector says that it is locked out", locked).await?;
    for key in &keys {
        let stored = node.entry(key).await?;
        let kept = stored.as_ref().is_some_and(|stored| {
            stored.entry.attempts == 0 && stored.entry.state == OutboxState::Pending
        });
        ensure(kept, || format!("a refused credential changed {stored:?}"))?;
    }
    node.turn(&id, Weather::Fine).await?;
    for key in &keys {
        node.wait_for(key, OutboxState::Delivered).await?;
    }
    for (lane, sent) in [("c0", ["m0", "m2", "m4"]), ("c1", ["m1", "m3", "m5"])] {
        let said = node.said(&id, lane);
        ensure(said == sent, || format!("sent {sent:?}, and this arrived: {said:?}"))?;
    }
    node.stop().await
}

pub(super) async fn one_hangs(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    let node = Node::start(options, &platform).await?;
    let hanging = node.add("hanging", Weather::Hangs, queue()).await?;
    let healthy = node.add("healthy", Weather::Fine, queue()).await?;
    for n in 0..100 {
        node.send(&hanging, &format!("h{n}"), &format!("c{n}")).await?;
    }
    let mut keys = Vec::new();
    for n in 0..20 {
        keys.push(node.send(&healthy, &format!("m{n}"), "c0").await?);
    }
    // Each of the others would take a minute.
    for key in &keys {
        node.wait_for(key, OutboxState::Delivered).await?;
    }
    let waiting = node.outbox.view(&node.connectors.get(&hanging).await?).await?.waiting;
    ensure(waiting == 100, || format!("{waiting} messages wait where nothing is answered"))?;
    node.die().await;
    Ok(())
}
