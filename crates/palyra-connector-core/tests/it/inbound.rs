//! What comes in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palyra_common::runtime_contracts::RouteReason;
use palyra_common::time::{Clock, Duration, Timestamp};
use palyra_connector_core::{
    Accepted, AuthorKind, ChannelError, Content, Inbound, InboundEvent, InboundSink, Outgoing,
    SystemDice, Taken, enqueue,
};
use palyra_storage::{StorageError, Tx};

use crate::world::{AsItIs, World, connector, delivered, on_every_engine};

on_every_engine!(
    a_message_is_decided_once_however_often_it_comes,
    the_answer_is_part_of_the_same_transaction,
    what_cannot_be_decided_is_kept_and_decided_later,
    the_cursor_moves_with_the_message,
);

/// Answers everything with an echo, unless it is told to fail.
#[derive(Default)]
pub(crate) struct Answer {
    fails: AtomicBool,
}

impl Answer {
    pub(crate) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }
}

impl InboundSink for Answer {
    fn accept(
        &self,
        tx: &mut Tx<'_>,
        event: &InboundEvent,
        _: &dyn Outgoing,
        now: Timestamp,
    ) -> Result<Taken, ChannelError> {
        if event.content.text.is_empty() {
            return Ok(Taken::Ignored(RouteReason::Empty));
        }
        let answer = World::envelope(&format!("re-{}", event.message), "a", &["echo"]);
        enqueue(tx, &answer, now).unwrap();
        if self.fails.load(Ordering::SeqCst) {
            let what = "a rule that makes no sense".into();
            return Err(StorageError::InvalidValue { what }.into());
        }
        let session_key = "s".to_owned();
        Ok(Taken::Routed { reason: RouteReason::Direct, session_key, reply: None })
    }
}

pub(crate) fn inbound(world: &World, sink: &Arc<Answer>) -> Inbound {
    let dice = Arc::new(SystemDice);
    Inbound::new(world.db.clone(), world.clock.clone(), dice, sink.clone(), Arc::new(AsItIs))
}

pub(crate) fn message(id: &str, text: &str) -> InboundEvent {
    InboundEvent {
        connector: connector(),
        message: id.parse().unwrap(),
        conversation: "a".parse().unwrap(),
        thread: None,
        sender: "ann".into(),
        occurred_at: crate::world::START,
        content: Content {
            text: text.into(),
            direct: true,
            author: AuthorKind::Person,
            mentions_bot: false,
            addresses_all: false,
            attachments: 0,
        },
        cursor: Some(id.into()),
    }
}

async fn a_message_is_decided_once_however_often_it_comes(world: World) {
    let sink = Arc::new(Answer::default());
    let second = world.second_node().await.unwrap_or_else(|| world.db.clone());
    let nodes = [
        inbound(&world, &sink),
        Inbound::new(
            second,
            world.clock.clone(),
            Arc::new(SystemDice),
            sink.clone(),
            Arc::new(AsItIs),
        ),
    ];
    let mut deliveries = tokio::task::JoinSet::new();
    for delivery in 0..40 {
        let node = nodes[delivery % 2].clone();
        deliveries.spawn(async move { node.accept(message("n1", "hello")).await.unwrap() });
    }
    let outcomes = deliveries.join_all().await;
    let decided = outcomes.iter().filter(|outcome| matches!(outcome, Accepted::Decided(_)));
    assert_eq!(decided.count(), 1);
    assert_eq!(world.round(&delivered()).await, ["re-n1"]);
    assert!(world.due().await.is_empty());
}

async fn the_answer_is_part_of_the_same_transaction(world: World) {
    let sink = Arc::new(Answer::default());
    let inbound = inbound(&world, &sink);
    let ignored = inbound.accept(message("n1", "")).await.unwrap();
    assert_eq!(ignored, Accepted::Decided(Taken::Ignored(RouteReason::Empty)));
    assert!(world.due().await.is_empty());
    sink.fail(true);
    assert_eq!(inbound.accept(message("n2", "hi")).await.unwrap(), Accepted::Later);
    assert!(world.due().await.is_empty(), "the answer of an undone decision is there");
}

async fn what_cannot_be_decided_is_kept_and_decided_later(world: World) {
    let sink = Arc::new(Answer::default());
    let inbound = inbound(&world, &sink);
    sink.fail(true);
    assert_eq!(inbound.accept(message("n1", "hi")).await.unwrap(), Accepted::Later);
    assert_eq!(inbound.accept(message("n1", "hi")).await.unwrap(), Accepted::Before);
    world.pass(Duration::from_mins(1));
    let (decided, again) = inbound.decide_waiting(10).await.unwrap();
    assert_eq!(decided, 0);
    assert!(again.unwrap() >= world.clock.now());
    sink.fail(false);
    world.pass(Duration::from_mins(1));
    assert_eq!(inbound.decide_waiting(10).await.unwrap(), (1, None));
    assert_eq!(world.round(&delivered()).await, ["re-n1"]);
}

async fn the_cursor_moves_with_the_message(world: World) {
    let sink = Arc::new(Answer::default());
    let inbound = inbound(&world, &sink);
    let conversation = "a".parse().unwrap();
    assert_eq!(inbound.cursor(&connector(), &conversation).await.unwrap(), None);
    for id in ["n1", "n2"] {
        inbound.accept(message(id, "hi")).await.unwrap();
        let cursor = inbound.cursor(&connector(), &conversation).await.unwrap();
        assert_eq!(cursor.as_deref(), Some(id));
    }
    // An old message that comes again does not move it back.
    inbound.accept(message("n1", "hi")).await.unwrap();
    let cursor = inbound.cursor(&connector(), &conversation).await.unwrap();
    assert_eq!(cursor.as_deref(), Some("n2"));
}
