//! Messages arrive once and in order.

use std::sync::Arc;

use palyra_storage::OpenOptions;

use super::node::{Node, queue, until};
use super::{Broken, Platform, Weather, ensure};

const MESSAGES: usize = 60;
const CONVERSATIONS: usize = 6;
/// One message in this many has several parts.
const LONG: usize = 7;

pub(super) async fn kept(options: &OpenOptions, platform: Arc<dyn Platform>) -> Result<(), Broken> {
    let node = Node::start(options, &platform).await?;
    let id = node.add("order", Weather::Flaky, queue()).await?;
    let conversation = |n: usize| format!("c{}", n % CONVERSATIONS);
    for n in 0..MESSAGES {
        node.send_parts(&id, &format!("m{n}"), &conversation(n), texts(n)).await?;
    }
    let whole: usize = (0..MESSAGES).map(|n| texts(n).len()).sum();
    until("all has arrived", async || Ok(platform.arrived(&id).len() >= whole)).await?;
    until("all is settled", async || Ok(node.outbox.next_due(&id).await?.is_none())).await?;
    for lane in 0..CONVERSATIONS {
        let sent: Vec<_> = (lane..MESSAGES).step_by(CONVERSATIONS).flat_map(texts).collect();
        let said = node.said(&id, &conversation(lane));
        ensure(said == sent, || format!("sent {sent:?}, and this arrived: {said:?}"))?;
    }
    node.stop().await
}

fn texts(n: usize) -> Vec<String> {
    let parts = if n.is_multiple_of(LONG) { 3 } else { 1 };
    (0..parts).map(|part| format!("message {n}, part {part}")).collect()
}
