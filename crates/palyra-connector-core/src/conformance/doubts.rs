//! Where nobody can know whether a message has arrived.

use std::sync::Arc;

use palyra_common::queue::QueueSettings;
use palyra_common::runtime_contracts::OutboxState;
use palyra_common::time::Duration;
use palyra_policy::outbox::Resolution;
use palyra_storage::OpenOptions;

use super::node::{self, Node, queue, until};
use super::{Broken, Platform, Weather, ensure};
use crate::EntryKey;

pub(super) async fn answer_lost(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    let node = Node::start(options, &platform).await?;
    let id = node.add("lossy", Weather::DropsAnswers, queue()).await?;
    let key = node.send(&id, "m0", "c0").await?;
    until("it has arrived", async || Ok(!platform.arrived(&id).is_empty())).await?;
    node.turn(&id, Weather::Fine).await?;
    ends_once(&node, &key).await?;
    node.stop().await
}

pub(super) async fn never_answered(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    let node = Node::start(options, &platform).await?;
    let impatient = QueueSettings { attempt_timeout: Duration::from_millis(200), ..queue() };
    let id = node.add("silent", Weather::Hangs, impatient).await?;
    let key = node.send(&id, "m0", "c0").await?;
    let given_up = async || {
        let stored = node.entry(&key).await?;
        Ok(stored.is_some_and(|stored| stored.last_error.is_some()))
    };
    until("the request is given up", given_up).await?;
    node.turn(&id, Weather::Fine).await?;
    ends_once(&node, &key).await?;
    node.stop().await
}

pub(super) async fn died_before(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    died(options, platform, Weather::Hangs).await
}

pub(super) async fn died_after(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    died(options, platform, Weather::DoesAndHangs).await
}

/// A node dies in the middle of a request, and another one takes over.
async fn died(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
    weather: Weather,
) -> Result<(), Broken> {
    let first = Node::start(options, &platform).await?;
    let id = first.add("deserted", weather, queue()).await?;
    let key = first.send(&id, "m0", "c0").await?;
    let behind = first.send(&id, "m1", "c0").await?;
    first.wait_for(&key, OutboxState::Sending).await?;
    if weather == Weather::DoesAndHangs {
        until("it has arrived", async || Ok(!platform.arrived(&id).is_empty())).await?;
    }
    first.die().await;
    node::turn_while_down(options, &*platform, &id, Weather::Fine).await?;
    let second = Node::start(options, &platform).await?;
    ends_once(&second, &key).await?;
    second.wait_for(&behind, OutboxState::Delivered).await?;
    let mut said = second.said(&id, "c0");
    said.sort();
    ensure(said == ["m0", "m1"], || format!("this arrived: {said:?}"))?;
    second.stop().await
}

/// A message in doubt ends as delivered, and arrives once. Where nothing can be learnt, a human
/// decides, who looks at the platform.
async fn ends_once(node: &Node, key: &EntryKey) -> Result<(), Broken> {
    let arrived = || {
        let arrived = node.platform.arrived(&key.connector);
        arrived.into_iter().filter(|said| said.text == key.envelope.as_str()).count()
    };
    let mut asked = false;
    until("it is delivered", async || {
        ensure(arrived() <= 1, || "a message was sent twice, and nobody asked for it".to_owned())?;
        let aside = node.entry(key).await?.is_some_and(|stored| stored.aside);
        match node.state(key).await? {
            Some(OutboxState::Delivered) => Ok(true),
            Some(OutboxState::Unknown) if aside && !asked => {
                asked = true;
                let resolution = match arrived() {
                    0 => Resolution::Resend,
                    _ => Resolution::MarkDelivered,
                };
                node.outbox.resolve(key, resolution, None).await?;
                Ok(false)
            }
            Some(OutboxState::Dead | OutboxState::Cancelled) | None => {
                Err(Broken("a message in doubt was given up".to_owned()))
            }
            Some(_) => Ok(false),
        }
    })
    .await?;
    ensure(arrived() == 1, || format!("delivered, and arrived {} times", arrived()))
}
