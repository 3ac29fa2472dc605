//! A message that came in when nobody could decide about it.

use std::sync::Arc;

use palyra_common::time::{Clock, Timestamp};
use palyra_connector_core::{
    Accepted, AuthorKind, ChannelError, Content, Inbound, InboundEvent, InboundSink, Outgoing,
    SystemDice, Taken,
};
use palyra_storage::{Database, OpenOptions, SystemClock, Tx};

/// Decides nothing.
struct Undecided;

impl InboundSink for Undecided {
    fn accept(
        &self,
        _: &mut Tx<'_>,
        _: &InboundEvent,
        _: &dyn Outgoing,
        _: Timestamp,
    ) -> Result<Taken, ChannelError> {
        Err(ChannelError::Invalid("on purpose".into()))
    }
}

/// Lets every text out as it is.
struct AsItIs;

impl Outgoing for AsItIs {
    fn clean(&self, text: &str) -> String {
        text.to_owned()
    }

    fn snapshot(&self) -> Arc<dyn Outgoing> {
        Arc::new(Self)
    }
}

/// Keeps a message in rows that no daemon has open. The next one decides about it.
pub(super) fn keep(rows: OpenOptions, conversation: &str, name: &str) {
    let clock = Arc::new(SystemClock);
    let event = InboundEvent {
        connector: "echo:default".parse().unwrap(),
        message: name.parse().unwrap(),
        conversation: conversation.parse().unwrap(),
        thread: None,
        sender: "ann".to_owned(),
        occurred_at: clock.now(),
        content: Content {
            text: name.to_owned(),
            direct: true,
            author: AuthorKind::Person,
            mentions_bot: false,
            addresses_all: false,
            attachments: 0,
        },
        cursor: None,
    };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let db = Database::open(rows).await.unwrap();
        let (sink, outgoing) = (Arc::new(Undecided), Arc::new(AsItIs));
        let inbound = Inbound::new(db.clone(), clock, Arc::new(SystemDice), sink, outgoing);
        assert_eq!(inbound.accept(event).await.unwrap(), Accepted::Later);
        db.close().await;
    });
}
