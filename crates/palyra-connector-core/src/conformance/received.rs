//! What comes in is answered once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::try_join_all;
use palyra_common::ids::{ConnectorId, NativeMessageId};
use palyra_common::runtime_contracts::RouteReason;
use palyra_common::time::Timestamp;
use palyra_storage::{OpenOptions, Tx};

use super::node::{self, Node, queue, until};
use super::{Broken, Platform, Weather, ensure};
use crate::{
    AuthorKind, ChannelError, Content, InboundEvent, InboundSink, Outgoing, Taken, enqueue,
};

/// Answers each message, each time by another name: whoever is answered twice has two answers.
#[derive(Debug, Default)]
pub(super) struct Answers(AtomicU64);

impl InboundSink for Answers {
    fn accept(
        &self,
        tx: &mut Tx<'_>,
        event: &InboundEvent,
        _: &dyn Outgoing,
        now: Timestamp,
    ) -> Result<Taken, ChannelError> {
        let name = format!("answer-{}-{}", event.message, self.0.fetch_add(1, Ordering::Relaxed));
        let text = format!("answer to {}", event.content.text);
        let answer =
            node::envelope(&event.connector, &name, event.conversation.as_str(), vec![text]);
        let answer = answer.map_err(|error| ChannelError::Invalid(error.to_string()))?;
        enqueue(tx, &answer, now)?;
        let session_key = event.conversation.to_string();
        Ok(Taken::Routed { reason: RouteReason::Direct, session_key, reply: None })
    }
}

/// At once, and again after a restart.
pub(super) async fn again(
    options: &OpenOptions,
    platform: Arc<dyn Platform>,
) -> Result<(), Broken> {
    let first = Node::start(options, &platform).await?;
    let id = first.add("heard", Weather::Fine, queue()).await?;
    let event = event(&id)?;
    let says = |node: &Node| {
        let (platform, inbound) = (node.platform.clone(), node.inbound.clone());
        let told = (0..8).map(|_| {
            let (platform, inbound, event) = (platform.clone(), inbound.clone(), event.clone());
            async move { platform.says(&inbound, event).await }
        });
        try_join_all(told.collect::<Vec<_>>())
    };
    says(&first).await?;
    until("it is answered", async || Ok(!platform.arrived(&id).is_empty())).await?;
    first.stop().await?;
    let second = Node::start(options, &platform).await?;
    says(&second).await?;
    // What is sent afterwards in the same conversation arrives after whatever answers that.
    let last = second.send(&id, "last", "c0").await?;
    second.wait_for(&last, palyra_common::runtime_contracts::OutboxState::Delivered).await?;
    let said = second.said(&id, "c0");
    ensure(said == ["answer to hello", "last"], || format!("this was answered: {said:?}"))?;
    second.stop().await
}

fn event(connector: &ConnectorId) -> Result<InboundEvent, Broken> {
    let message = "n1".parse::<NativeMessageId>().map_err(|error| Broken(error.to_string()))?;
    let conversation = "c0".parse().map_err(|error| Broken(format!("{error}")))?;
    Ok(InboundEvent {
        connector: connector.clone(),
        message,
        conversation,
        thread: None,
        sender: "somebody".to_owned(),
        occurred_at: Timestamp::MIN,
        content: Content {
            text: "hello".to_owned(),
            direct: true,
            author: AuthorKind::Person,
            mentions_bot: false,
            addresses_all: false,
            attachments: 0,
        },
        cursor: None,
    })
}
