//! What a platform is asked for directly, and whether it is heard at all.

use std::sync::Arc;

use palyra_common::ids::{ConnectorId, NativeMessageId};
use palyra_common::runtime_contracts::{ConnectorContact, OutboxState};
use palyra_storage::OpenOptions;

use super::node::{Node, queue, until};
use super::{Broken, Platform, Weather, ensure};
use crate::{ChannelError, OnPlatform, Reading};

/// A connector that runs, and has said these three.
async fn with_three(node: &Node, name: &str) -> Result<ConnectorId, Broken> {
    let id = node.add(name, Weather::Fine, queue()).await?;
    for said in ["m0", "m1", "m2"] {
        let key = node.send(&id, said, "c0").await?;
        node.wait_for(&key, OutboxState::Delivered).await?;
    }
    let elsewhere = node.send(&id, "m3", "c1").await?;
    node.wait_for(&elsewhere, OutboxState::Delivered).await?;
    Ok(id)
}

pub(super) async fn read_back(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    let node = Node::start(options, &platform).await?;
    let id = with_three(&node, "read").await?;
    let can = node.platforms.capabilities(&id)?;
    let read = async |before: Option<NativeMessageId>, containing: Option<&str>, limit| {
        let conversation =
            "c0".parse().map_err(|error| ChannelError::Invalid(format!("{error}")))?;
        let containing = containing.map(str::to_owned);
        node.platforms.read(&id, Reading { conversation, before, containing, limit }).await
    };
    if !can.history {
        refused(read(None, None, 10).await)?;
        return node.stop().await;
    }
    let all = read(None, None, 10).await?;
    check(&all, &["m2", "m1", "m0"])?;
    check(&read(None, None, 2).await?, &["m2", "m1"])?;
    let middle = all.get(1).map(|said| said.message.clone());
    check(&read(middle, None, 10).await?, &["m0"])?;
    match can.search {
        true => check(&read(None, Some("M1"), 10).await?, &["m1"])?,
        false => refused(read(None, Some("M1"), 10).await)?,
    }
    node.stop().await
}

/// As they were said, and by the names under which they were delivered.
fn check(read: &[OnPlatform], texts: &[&str]) -> Result<(), Broken> {
    let said: Vec<_> = read.iter().map(|said| said.text.as_str()).collect();
    ensure(said == texts, || format!("{texts:?} were said, and read as {said:?}"))
}

fn refused<T>(asked: Result<T, ChannelError>) -> Result<(), Broken> {
    match asked {
        Err(ChannelError::NotCapable { .. }) => Ok(()),
        Err(other) => Err(other.into()),
        Ok(_) => Err(Broken("it does what it says that it cannot".to_owned())),
    }
}

pub(super) async fn typing(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    let node = Node::start(options, &platform).await?;
    let id = with_three(&node, "typing").await?;
    let conversation = "c1".parse().map_err(|error| Broken(format!("{error}")))?;
    let shown = node.platforms.typing(&id, &conversation).await;
    match node.platforms.capabilities(&id)?.typing {
        true => {
            shown?;
            until("it is shown", async || Ok(platform.typed(&id) == ["c1"])).await?;
        }
        false => refused(shown)?,
    }
    let said = node.said(&id, "c1");
    ensure(said == ["m3"], || format!("somebody typed, and this was said: {said:?}"))?;
    node.stop().await
}

pub(super) async fn not_heard(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    let node = Node::start(options, &platform).await?;
    let id = node.add("heard", Weather::Fine, queue()).await?;
    let contact = async || {
        let status = node.statuses.of(&id).await?;
        Ok::<_, Broken>(status.map_or(ConnectorContact::None, |status| status.contact()))
    };
    until("it is heard", async || Ok(contact().await? == ConnectorContact::Heard)).await?;
    let status = node.statuses.of(&id).await?;
    if status.and_then(|status| status.connection.acks_every).is_some() {
        node.turn(&id, Weather::Silent).await?;
        until("it is silent", async || Ok(contact().await? == ConnectorContact::Silent)).await?;
        node.turn(&id, Weather::Fine).await?;
        until("it is heard again", async || Ok(contact().await? == ConnectorContact::Heard))
            .await?;
    }
    node.stop().await
}
